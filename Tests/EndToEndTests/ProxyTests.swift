import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs that go through a proxy with authentication.
@Suite(.timeLimit(.minutes(2))) struct ProxyTests {
    private func proxy(_ port: UInt16, _ kind: String, credential: String) -> String {
        #", "configuration": {"proxy": {"url": "\#(kind)://127.0.0.1:\#(port)"\#(credential)}}"#
    }

    private static let given = #", "credential": {"user": "cave", "password": "sesame12"}"#

    // R26: with the job, or stored; never shown or logged.
    // Proves: AUT-30, SES-11, SEC-32, SEC-34.
    @Test func `a proxy is shown the credential of the job, and nobody else is`() async throws {
        let tinyproxy = try await LoopbackServer.tinyproxy(user: ("cave", "sesame12"))
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let rules = ["127.0.0.1:\(tinyproxy.port)", "127.0.0.1:\(origin.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let without = try await service.fetch(origin.url(), more: proxy(tinyproxy.port, "http", credential: ""))
            #expect(member(without, "response", "status") == 407, "\(without)")
            let job = try await service.fetch(
                origin.url(), more: proxy(tinyproxy.port, "http", credential: Self.given))
            #expect(member(job, "response", "status") == 200, "\(job)")
            #expect(member(job, "configuration", "proxy", "credential") == "sealed")
            let id = try #require(member(job, "id", as: String.self))
            let shown = try await service.request(.get, "/v1/jobs/\(id)?include=effectiveConfiguration").json
            #expect(member(shown, "effectiveConfiguration", "proxy", "credential", "value") == "sealed")
            let stored = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "127.0.0.1", "port": \#(tinyproxy.port), "protocol": "http", "#
                    + #""isProxy": true, "authenticationMethod": "httpBasic"}, "#
                    + #""user": "cave", "password": "sesame12"}"#)
            let name = try #require(member(stored.json, "id", as: String.self), "\(stored.text)")
            let named = try await service.fetch(
                origin.url(), more: proxy(tinyproxy.port, "http", credential: #", "credential": "\#(name)""#))
            #expect(member(named, "response", "status") == 200, "\(named)")
            #expect(!"\(job)\(named)\(service.logged)".contains("sesame"))
        }
        #expect(!origin.received().contains("Proxy-Authorization"))
    }

    // Proves: SEC-34.
    @Test func `a public proxy that the operator has not allowed is not used, and says how it would be`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for proxy in ["http://8.8.8.8:3128", "socks5h://proxy.example:1080"] {
                let more = #", "configuration": {"proxy": {"url": "\#(proxy)"}}"#
                let job = try await service.fetch("http://a.example/", more: more)
                #expect(member(job, "error", "name") == "proxyForbidden", "\(job)")
                let message: String? = member(job, "error", "message")
                #expect(message?.contains("GUARD_ALLOW_PROXIES") == true)
            }
            // One that a rule opens is allowed with it.
            let more = #", "configuration": {"proxy": {"url": "http://127.0.0.1:\#(origin.port)"}}"#
            #expect(member(try await service.fetch("http://a.example/", more: more), "response", "status") == 200)
        }
    }

    // Proves: AUT-30, SES-11, NET-6.
    @Test func `a SOCKS proxy is shown it too, after a restart as well`() async throws {
        let socks = try await LoopbackServer.microsocks(user: "cave", password: "sesame12")
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let rules = ["127.0.0.1:\(socks.port)", "127.0.0.1:\(origin.port)"]
        try await ServiceProcess.Place.with(allowing: rules) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let body =
                #"{"request": {"url": "\#(origin.url())"}, "suspended": true"#
                + proxy(socks.port, "socks5h", credential: Self.given) + "}"
            let answer = try await first.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            #expect(try await first.stop() == 0)
            let second = try await ServiceProcess.start(place, key: key)
            _ = try await second.request(.post, "/v1/jobs/\(id)/resume")
            let job = try await second.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "response", "status") == 200)
            #expect(try await second.stop() == 0)
        }
    }

    @Test func `credentials that no proxy can be shown are refused`() async throws {
        let refusals = [
            (#"{"credential": {"user": "u", "password": "p"}}"#, "/configuration/proxy"),
            (#"{"url": "http://p.example:1", "credential": {"bearerToken": "t"}}"#, "/configuration/proxy"),
            (#"{"url": "http://p.example:1", "credential": "sealed"}"#, "/configuration/proxy/credential"),
            (#"{"url": "http://p.example:1", "rules": []}"#, "/configuration/proxy"),
            (#"{"rules": [{"proxies": []}]}"#, "/configuration/proxy/rules/0/proxies"),
            (#"{"rules": [{"proxies": ["http://u:p@p.example:1"]}]}"#, "/configuration/proxy/rules/0/proxies/0"),
            (#"{"rules": [{"proxies": ["direct"], "schemes": ["gopher"]}]}"#, "/configuration/proxy/rules/0/schemes/0"),
            (#"{"rules": [{"hosts": []}]}"#, "/configuration/proxy/rules/0/proxies"),
        ]
        try await ServiceProcess.with(allowing: []) { service in
            for (group, pointer) in refusals {
                let answer = try await service.request(
                    .post, "/v1/jobs",
                    body: #"{"request": {"url": "http://a.example/"}, "configuration": {"proxy": \#(group)}}"#)
                #expect(answer.status == 422 && answer.text.contains("\"pointer\":\"\(pointer)\""), "\(answer.text)")
                let session = try await service.request(
                    .post, "/v1/sessions", body: #"{"configuration": {"proxy": \#(group)}}"#)
                #expect(session.status == 422, "\(group)")
            }
        }
    }
}
