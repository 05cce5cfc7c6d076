import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs for ftp URLs, where the operator lets them be.
@Suite(.timeLimit(.minutes(3))) struct FTPJobTests {
    private static let kinds = FTPServerKind.allCases.filter { $0.path != nil }
    private static let settings = ["SCHEMES_FTP": "true"]
    private static let content = pattern(2_000_000)

    private func url(_ server: LoopbackServer, _ path: String) -> String { "ftp://127.0.0.1:\(server.port)\(path)" }

    private func body(of job: [String: Any], _ service: ServiceProcess) async throws -> [UInt8] {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self), "\(job)")).body
    }

    // A credential of the job, of its URL, or stored for the server.
    // Proves: NET-2, AUT-31, CRD-3, UPL-1, AUT-1.
    @Test(arguments: kinds) func `a file is got and put by who may log in`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: ["big.bin": Self.content])
        let rule = "127.0.0.1:\(server.port)"
        try await ServiceProcess.with(allowing: [rule], settings: Self.settings) { service in
            let nobody = try await service.fetch(url(server, "/big.bin"))
            #expect(member(nobody, "error", "name") == "userAuthenticationRequired")
            let own = try await service.fetch(
                url(server, "/big.bin"),
                more: #", "kind": "download", "configuration": {"authentication": {"credential": "#
                    + #"{"user": "\#(kind.user)", "password": "secret"}}}"#)
            #expect(member(own, "response", "status") == 200, "\(own)")
            #expect(member(own, "file", "filename") == "big.bin")
            #expect(try await body(of: own, service) == Self.content)
            let put = try await service.fetch(
                url(server, "/new.txt").replacing("//", with: "//\(kind.user):secret@"),
                request: #", "method": "PUT", "body": {"text": "mine"}"#)
            #expect(member(put, "state") == "succeeded", "\(put)")
            #expect(server.directory.text(of: "files/new.txt") == "mine")
            let stored = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "127.0.0.1", "port": \#(server.port), "protocol": "ftp", "#
                    + #""authenticationMethod": "default"}, "user": "\#(kind.user)", "password": "secret"}"#)
            #expect(stored.status == 201, "\(stored.text)")
            let got = try await service.fetch(url(server, "/new.txt"))
            #expect(try await body(of: got, service) == Array("mine".utf8))
            #expect(!"\(own)\(put)\(got)\(service.logged)".contains("secret"))
            // A job with a credential does not try without it first: where anybody may log in, nobody would ask for it.
            if kind == .pyftpdlib {
                let logins = server.directory.text(of: "log").components(separatedBy: "<- USER ").dropFirst()
                #expect(logins.count { $0.hasPrefix("anonymous") } == 1 && logins.count > 1)
            }
        }
    }

    // With TLS from the first byte on, too; a missing file has its own error.
    // Proves: NET-2.
    @Test(arguments: kinds, [true, false])
    func `folders are listed, and what is missing is told, with TLS as well`(_ kind: FTPServerKind, _ isSecure: Bool)
        async throws
    {
        // pyftpdlib has no TLS from the first byte on.
        guard !isSecure || kind != .pyftpdlib else { return }
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.ftp(
            kind, files: ["hello.txt": Array("hello".utf8)],
            encryption: isSecure ? .implicit(try await authority.issue("ftp")) : .none)
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        let trusting =
            #", "configuration": {"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}, "#
            + #""retry": {"maximumAttempts": 1}}"#
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"], settings: Self.settings) { service in
            let address = "\(isSecure ? "ftps" : "ftp")://\(kind.user):secret@127.0.0.1:\(server.port)"
            let fetch = { (path: String, request: String) async throws -> [String: Any] in
                try await service.fetch(address + path, request: request, more: trusting)
            }
            let file = try await fetch("/hello.txt", "")
            #expect(try await body(of: file, service) == Array("hello".utf8), "\(file)")
            let size = try await fetch("/hello.txt", #", "method": "HEAD""#)
            #expect(member(size, "response", "expectedContentLength") == 5, "\(size)")
            let fields = member(size, "response", "headers", as: [[String: String]].self) ?? []
            #expect(fields.contains { $0["name"] == "Last-Modified" && $0["value"]?.hasSuffix(" GMT") == true })
            let put = try await fetch("/up.txt", #", "method": "PUT", "body": {"text": "up"}"#)
            #expect(server.directory.text(of: "files/up.txt") == "up", "\(put)")
            let list = String(decoding: try await body(of: try await fetch("/", ""), service), as: UTF8.self)
            #expect(list.contains("hello.txt") && list.contains("up.txt"))
            let missing = try await fetch("/missing.txt", "")
            #expect(member(missing, "error", "name") == "fileDoesNotExist", "\(missing)")
            guard isSecure else { return }
            let distrusted = try await service.fetch(address + "/hello.txt")
            #expect(member(distrusted, "error", "name") == "serverCertificateHasUnknownRoot", "\(distrusted)")
        }
    }

    // Proves: CCH-6.
    @Test(arguments: kinds)
    func `what comes by ftp is not stored, and cannot be demanded of the cache`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: ["hello.txt": Array("hello".utf8)])
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"], settings: Self.settings) { service in
            let address = url(server, "/hello.txt").replacing("//", with: "//\(kind.user):secret@")
            func fetch(_ policy: String) async throws -> [String: Any] {
                try await service.fetch(address, request: #", "cachePolicy": "\#(policy)""#)
            }
            for content in ["hello", "other"] {
                try server.directory.write(content, to: "files/hello.txt")
                let job = try await fetch("returnCacheDataElseLoad")
                #expect(try await body(of: job, service) == Array(content.utf8))
                #expect(member(job, "response", "fromCache") == false)
            }
            let list = try await service.request(.get, "/v1/cache")
            #expect(member(list.json, "data", as: [Any].self)?.isEmpty == true, "\(list.text)")
            let demanded = try await fetch("returnCacheDataDontLoad")
            #expect(member(demanded, "error", "name") == "resourceUnavailable", "\(demanded)")
        }
    }

    // REST
    // Proves: DLD-14, NET-2.
    @Test(.enabled(if: FTPServerKind.vsftpd.path != nil))
    func `a download goes on where another one stopped`() async throws {
        let server = try await LoopbackServer.ftp(.vsftpd, files: ["big.bin": Self.content], rate: 1_000_000)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"], settings: Self.settings) { service in
            let address = url(server, "/big.bin").replacing("//", with: "//anonymous:secret@")
            func job(_ more: String) -> String { #"{"kind": "download", "request": {"url": "\#(address)"}\#(more)}"# }
            let answer = try await service.request(.post, "/v1/jobs", body: job(""))
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let running = try await service.job(id) {
                member($0, "progress", "bytesReceived", as: Int.self) ?? 0 > 100_000
            }
            #expect(member(running, "resumable") == true)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel?produceResumeData=true")
            let stopped = try await service.job(id) { member($0, "state") == "cancelled" }
            let data = try #require(member(stopped, "error", "resumeData", as: String.self), "\(stopped)")
            let again = try await service.request(
                .post, "/v1/jobs", body: job(#", "resumeFrom": "\#(data)""#), headers: [.prefer: "wait=30"])
            #expect(lastTransfer(of: again.json) == 206, "\(again.text)")
            #expect(member(again.json, "body", "digest") == SHA256Digest(of: Self.content).field)
        }
        #expect(server.directory.text(of: "log").contains("REST "))
    }

    // The same addresses as by http, and no way there by a redirect.
    // Proves: SEC-8, SEC-10, SEC-11.
    @Test func `the guard judges ftp as it does http`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 F\r\nLocation: ftp://a.example/\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], settings: Self.settings) { service in
            for (url, code) in [
                ("ftp://127.0.0.1/f", "addressForbidden"), ("ftp://10.0.0.1:2121/f", "addressForbidden"),
                ("ftps://[::1]/f", "addressForbidden"), ("ftp://localhost/f", "hostForbidden"),
                ("ftp://8.8.8.8:22/f", "portForbidden"), (origin.url(), "redirectTargetForbidden"),
            ] {
                let job = try await service.fetch(url)
                #expect(member(job, "error", "name") == code, "\(url): \(job)")
            }
            let method = try await service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "ftp://a.example/f", "method": "DELETE"}}"#)
            #expect(method.status == 422 && method.text.contains("/request/method"))
        }
    }
}
