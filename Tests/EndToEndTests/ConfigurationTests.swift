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

    // Proves: BEY-16, BEY-22, BEY-23, BEY-27.
    @Test func `what has no effect in a service is accepted and kept, and nothing of it is sent`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let groups = [
            "connections": #"{"allowsCellularAccess": false, "allowsExpensiveNetworkAccess": false, "#
                + #""allowsConstrainedNetworkAccess": false, "allowsUltraConstrainedNetworkAccess": false, "#
                + #""networkServiceType": "voice", "multipathServiceType": "handover"}"#,
            "background": #"{"sessionSendsLaunchEvents": true, "sharedContainerIdentifier": "group.a", "#
                + #""shouldUseExtendedBackgroundIdleMode": true}"#,
            "request": #"{"attribution": "user", "allowsPersistentDNS": true}"#,
        ]
        let configuration = groups.map { "\"\($0)\": \($1)" }.joined(separator: ", ")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let plain = try await service.fetch(origin.url("/plain"))
            let job = try await service.fetch(origin.url("/plain"), more: ", \"configuration\": {\(configuration)}")
            #expect(member(plain, "state") == "succeeded" && member(job, "state") == "succeeded")
            for (name, group) in groups {
                let kept = try #require(member(job, "configuration", name, as: [String: Any].self), "\(job)")
                let sent = try JSONSerialization.jsonObject(with: Data(group.utf8)) as? [String: Any]
                #expect(NSDictionary(dictionary: kept) == NSDictionary(dictionary: sent ?? [:]))
            }
            let heads = origin.received().components(separatedBy: "\r\n\r\n").filter { !$0.isEmpty }
            #expect(heads.count == 2 && heads[0] == heads[1], "\(heads)")
            // One word for another.
            let credential = try await service.request(
                .post, "/v1/credentials",
                body: #"{"persistence": "synchronizable", "user": "u", "password": "p", "protectionSpace": "#
                    + #"{"host": "a.example", "port": 443, "protocol": "https", "authenticationMethod": "httpBasic"}}"#)
            #expect(credential.status == 201 && member(credential.json, "persistence") == "permanent")
        }
    }

    // R28
    // Proves: RED-11, SEC-31.
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

    // Proves: NET-1.
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
                let path = href.replacing("/body", with: "?include=effectiveConfiguration")
                let shown = try await service.request(.get, path).json
                let source = member(shown, "effectiveConfiguration", "tls", "alpn", "from", as: String.self)
                #expect(source == (tls == "{}" ? "default" : "job"))
            }
        }
    }

    // Proves: CCH-10.
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

    @Test func `a body without a type of its own is sent with the configuration's`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /Content-Length: ([0-9]+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let setting = #", "configuration": {"upload": {"contentType": "application/x-mine; a=b"}}"#
            for (path, request) in [
                ("/own", #""body": {"text": "t"}, "headers": [{"name": "Content-Type", "value": "text/own"}]"#),
                ("/text", #""body": {"text": "t"}"#),
                ("/form", #""body": {"multipart": [{"name": "a", "text": "b"}]}"#),
                ("/none", #""headers": []"#),
            ] {
                let method = path == "/none" ? "GET" : "POST"
                _ = try await service.fetch(
                    origin.url(path), request: #", "method": "\#(method)", \#(request)"#, more: setting)
            }
        }
        let received = origin.received()
        func type(_ path: String) -> String? {
            let head = received.components(separatedBy: "HTTP/1.1\r\nHost")
            let index = head.firstIndex { $0.hasSuffix("\(path) ") } ?? 0
            return head[index + 1].firstMatch(of: /Content-Type: ([^\r]*)/).map { String($0.output.1) }
        }
        #expect(type("/own") == "text/own")
        #expect(type("/text") == "application/x-mine; a=b")
        #expect(type("/form")?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(type("/none") == nil)
    }

    // A credential that was accepted is kept as long as the configuration says.
    // Proves: CRD-2, CRD-4.
    @Test func `a credential that comes with a job is kept as long as the configuration says`() async throws {
        let origin = try guardedOrigin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (persistence, count) in [("none", 0), ("permanent", 1)] {
                let job = try await service.fetch(
                    origin.url().replacing("//", with: "//u:p@"),
                    more: #", "configuration": {"authentication": {"persistence": "\#(persistence)"}}"#)
                #expect(member(job, "response", "status") == 200, "\(job)")
                let stored = try await service.request(.get, "/v1/credentials").json
                #expect(member(stored, "data", as: [Any].self)?.count == count)
            }
        }
    }
}
