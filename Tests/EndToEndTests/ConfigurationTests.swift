import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Members of the configuration, from the API to the wire.
@Suite(.timeLimit(.minutes(2))) struct ConfigurationTests {
    /// Wants a password of everybody.
    private func guardedOrigin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isKnown = head.contains("Authorization: Basic dTpw") || head.contains("Authorization: Bearer own")
                try connection.send(
                    isKnown
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"
                        : "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    // RED-11, SEC-31, AUT-22
    @Test(arguments: [
        (#""headers": [{"name": "Authorization", "value": "Bearer own"}]"#, "{}"),
        (#""method": "GET""#, #"{"credential": {"user": "u", "password": "p"}}"#),
    ])
    func `credentials follow a redirect to hosts that the job names, and to no others`(
        request: String, authentication: String
    ) async throws {
        let target = try guardedOrigin()
        let first = try WireOrigin(
            playing: "HTTP/1.1 302 F\r\nLocation: \(target.url())\r\nContent-Length: 0\r\n\r\n")
        let rules = ["127.0.0.1:\(first.port)", "127.0.0.1:\(target.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            for (hosts, status) in [("[]", 401), (#"["a.example"]"#, 401), (#"["127.0.0.1"]"#, 200)] {
                let job = try await service.fetch(
                    first.url(), request: ", \(request)",
                    more: #", "configuration": {"redirects": {"forwardCredentialsToHosts": \#(hosts)}, "#
                        + #""authentication": \#(authentication)}"#)
                #expect(member(job, "response", "status") == status, "\(hosts)")
            }
        }
    }

    // NET-1, SES-13
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `the protocols that ALPN offers are those that the job names`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"), directives: ["location /alpn { return 200 \"$ssl_alpn_protocol.\"; }"])
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        let trust = #""serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}"#
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"]) { service in
            for (tls, agreed) in [
                ("{}", "h2."), (#"{"alpn": ["h2", "http/1.1"]}"#, "h2."), (#"{"alpn": ["http/1.1"]}"#, "http/1.1."),
                (#"{"alpn": []}"#, "."),
            ] {
                let job = try await service.fetch(
                    "https://127.0.0.1:\(server.port)/alpn", more: #", "configuration": {\#(trust), "tls": \#(tls)}"#)
                let href = try #require(member(job, "body", "href", as: String.self), "\(job)")
                #expect(try await service.request(.get, href).text == agreed)
                let shown = try await service.request(.get, href.replacing("/body", with: "")).json
                let source = member(shown, "effectiveConfiguration", "tls", "alpn", "from", as: String.self)
                #expect(source == (tls == "{}" ? "default" : "job"))
            }
        }
    }

    // CCH-10
    @Test func `which statuses are stored is the job's to say`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 404 N\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (path, statuses, isCached) in [("/a", "success", false), ("/b", "rfc9111", true)] {
                let more = #", "configuration": {"cache": {"cacheableStatuses": "\#(statuses)"}}"#
                _ = try await service.fetch(origin.url(path), more: more)
                let again = try await service.fetch(origin.url(path), more: more)
                #expect(member(again, "response", "fromCache") == isCached)
            }
        }
    }
}
