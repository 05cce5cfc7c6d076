import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Loads from vsftpd, ProFTPD and pyftpdlib, whose replies differ.
@Suite struct FTPLoadTests {
    private static let big = pattern(3_000_000)
    private static let files: [String: [UInt8]] = [
        "hello.txt": Array("hello\n".utf8), "big.bin": big, "empty": [], "folder/inner file.txt": Array("inner".utf8),
    ]

    private static func url(_ kind: FTPServerKind, _ server: LoopbackServer, _ path: String) -> String {
        "ftp://\(kind.user):secret@127.0.0.1:\(server.port)\(path)"
    }

    private static func request(
        _ kind: FTPServerKind, _ server: LoopbackServer, _ path: String, method: HTTPRequest.Method = .get
    ) throws -> Request {
        Request(url: try URLRecord(url(kind, server, path)), method: method)
    }

    private static let kinds = FTPServerKind.allCases.filter { $0.path != nil }

    // pyftpdlib opens with 125, the others with 150.
    // Proves: FN-1, NET-2.
    @Test(arguments: kinds)
    func `a file is got whole, with its length and date`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let task = Session().dataTask(with: try Self.request(kind, server, "/big.bin"))
        let response = try await task.response(bufferingUpTo: 10_000_000)
        #expect(task.completeBody == Self.big)
        #expect(response.status.code == 200)
        #expect(response.httpVersion == "ftp")
        #expect(response.expectedContentLength == Int64(Self.big.count))
        #expect(response.headerFields[.lastModified]?.hasSuffix(" GMT") == true)
        #expect(response.suggestedFilename == "big.bin")
        #expect(!response.url.hasCredentials)
        #expect(task.metrics.transactions.first?.networkProtocolName == "ftp")
    }

    @Test(arguments: kinds)
    func `a file below a folder, with a space in its name, and one without a byte are got`(
        _ kind: FTPServerKind
    ) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let session = Session()
        let (inner, _) = try await session.data(for: Self.request(kind, server, "/folder/inner%20file.txt"))
        #expect(String(decoding: inner, as: UTF8.self) == "inner")
        let (empty, response) = try await session.data(for: Self.request(kind, server, "/empty"))
        #expect(empty.isEmpty)
        #expect(response.expectedContentLength == 0)
    }

    // RFC 2428: the old commands have no room for such addresses.
    // Proves: NET-2.
    @Test(.enabled(if: hasIPv6), arguments: kinds)
    func `a server is spoken to over IPv6`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files, at: "::1")
        let url = "ftp://\(kind.user):secret@[::1]:\(server.port)"
        let task = Session().dataTask(with: Request(url: try URLRecord(url + "/big.bin")))
        let response = try await task.response(bufferingUpTo: 10_000_000)
        #expect(task.completeBody == Self.big && response.expectedContentLength == Int64(Self.big.count))
        #expect(task.metrics.transactions.first?.remoteAddress == "::1")
        let (list, _) = try await Session().data(for: Request(url: try URLRecord(url + "/")))
        #expect(String(decoding: list, as: UTF8.self).contains("hello.txt"))
        var put = Request(url: try URLRecord(url + "/up.txt"), method: .put)
        put.body = .bytes(Array("up".utf8))
        _ = try await Session().data(for: put)
        #expect(server.directory.text(of: "files/up.txt") == "up")
    }

    private static let hasIPv6 = FileManager.default.contents(atPath: "/proc/net/if_inet6")?.isEmpty == false

    // Proves: NET-2.
    @Test(arguments: kinds)
    func `a folder is listed`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let (body, response) = try await Session().data(for: Self.request(kind, server, "/"))
        let text = String(decoding: body, as: UTF8.self)
        for name in ["hello.txt", "big.bin", "folder"] { #expect(text.contains(name)) }
        #expect(response.expectedContentLength == nil)
        #expect(response.mimeType == "text/plain")
    }

    @Test(arguments: kinds)
    func `a HEAD asks for size and date alone`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let (body, response) = try await Session().data(
            for: Self.request(kind, server, "/hello.txt", method: .head))
        #expect(body.isEmpty)
        #expect(response.expectedContentLength == 6)
        #expect(response.headerFields[.lastModified] != nil)
    }

    @Test(arguments: kinds)
    func `after each kind of load comes each other`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        func load(_ session: Session, _ step: String) async throws {
            let path = ["list": "/", "put": "/up.txt"][step] ?? "/hello.txt"
            let method: HTTPRequest.Method = ["head": .head, "put": .put][step] ?? .get
            var request = try Self.request(kind, server, path, method: method)
            if step == "put" { request.body = .bytes(Array("up".utf8)) }
            request.timeoutInterval = .seconds(30)
            let task = session.dataTask(with: request)
            let response = try await task.response(bufferingUpTo: 1_000_000)
            #expect(response.status.code == 200)
            if step == "list" {
                #expect(String(decoding: task.completeBody ?? [], as: UTF8.self).contains("hello.txt"))
            }
        }
        for first in ["get", "head", "put", "list"] {
            for second in ["get", "head", "put", "list"] {
                let session = Session()
                for step in [first, second] {
                    await #expect(throws: Never.self, "\(step) of \(first), \(second)") {
                        try await load(session, step)
                    }
                }
            }
        }
    }

    // Proves: NET-2.
    @Test(arguments: kinds)
    func `what is missing does not exist`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        for path in ["/missing.txt", "/missing/hello.txt", "/missing/"] {
            await expect(.fileDoesNotExist) { try await Session().data(for: Self.request(kind, server, path)) }
        }
    }

    // Proves: NET-2.
    @Test(arguments: kinds)
    func `a body is stored under the name of the URL`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        var request = try Self.request(kind, server, "/up.bin", method: .put)
        request.body = .bytes(Self.big)
        let task = Session().dataTask(with: request)
        let response = try await task.response(bufferingUpTo: 10)
        #expect(response.status.code == 200)
        #expect(server.directory.contents(of: "files/up.bin") == Self.big)
        #expect(task.countOfBytesSent == Int64(Self.big.count))
    }

    @Test(arguments: kinds)
    func `a body that the server does not take is refused by name`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        var request = try Self.request(kind, server, "/folder/missing/up.bin", method: .put)
        request.body = .bytes([1])
        await expect(.fileDoesNotExist) { try await Session().data(for: request) }
        var other = try Self.request(kind, server, "/folder", method: .put)
        other.body = .bytes([1])
        await expect(.uploadRefused) { try await Session().data(for: other) }
    }

    // REST.
    // Proves: DLD-14, NET-2.
    @Test(arguments: kinds)
    func `the rest of a file is got, unless it has changed`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let session = Session()
        let (_, whole) = try await session.data(for: Self.request(kind, server, "/big.bin", method: .head))
        var request = try Self.request(kind, server, "/big.bin")
        request.headerFields[.range] = "bytes=1000000-"
        request.headerFields[.ifRange] = whole.headerFields[.lastModified]
        let (rest, response) = try await session.data(for: request)
        #expect(rest == Array(Self.big[1_000_000...]))
        #expect(response.status.code == 206)
        #expect(response.headerFields[.contentRange] == "bytes 1000000-2999999/3000000")
        request.headerFields[.ifRange] = "Thu, 01 Jan 1998 00:00:00 GMT"
        let (nothing, changed) = try await session.data(for: request)
        #expect(nothing.isEmpty)
        #expect(changed.status.code == 412)
    }

    // Proves: AUT-31, AUT-1, FN-19.
    @Test(arguments: kinds)
    func `a wrong password is one challenge, and the right one retries`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let delegate = ChallengeAnswerer { _ in
            .useCredential(Credential(user: kind.user, password: "secret"))
        }
        let request = Request(url: try URLRecord("ftp://\(kind.user):wrong@127.0.0.1:\(server.port)/hello.txt"))
        let (body, _) = try await Session(delegate: delegate).data(for: request)
        #expect(String(decoding: body, as: UTF8.self) == "hello\n")
        #expect(delegate.challenges.count == 1)
        let challenge = try #require(delegate.challenges.first)
        #expect(challenge.protectionSpace.method == .default)
        #expect(challenge.protectionSpace.scheme == "ftp")
        #expect(challenge.previousFailureCount == 1)
        #expect(challenge.proposedCredential?.user == kind.user)
    }

    // Proves: AUT-31.
    @Test(arguments: kinds)
    func `without the right one the load fails, or is cancelled`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let request = Request(url: try URLRecord("ftp://\(kind.user):wrong@127.0.0.1:\(server.port)/hello.txt"))
        await expect(.userAuthenticationRequired) { try await Session().data(for: request) }
        let stubborn = ChallengeAnswerer { .useCredential($0.proposedCredential!) }
        await expect(.userAuthenticationRequired) { try await Session(delegate: stubborn).data(for: request) }
        #expect(stubborn.challenges.count == 1)
        let cancelling = ChallengeAnswerer { _ in .cancelAuthenticationChallenge }
        let task = Session(delegate: cancelling).dataTask(with: request)
        await expect(.userCancelledAuthentication) { try await task.response() }
        #expect(task.challenges.map(\.answer) == [.cancelAuthenticationChallenge])
    }

    // Proves: SEC-21.
    @Test(arguments: kinds)
    func `logins do not share connections, equal ones do`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        let session = Session()
        for _ in 0..<3 { _ = try await session.data(for: Self.request(kind, server, "/hello.txt")) }
        await expect(.userAuthenticationRequired) {
            try await session.data(
                for: Request(url: try URLRecord("ftp://\(kind.user):wrong@127.0.0.1:\(server.port)/hello.txt")))
        }
    }
}

/// FTP over TLS, from the first byte and by AUTH TLS.
@Suite struct FTPSLoadTests {
    private static let files: [String: [UInt8]] = ["big.bin": pattern(1_000_000)]
    private static let kinds = FTPServerKind.allCases.filter { $0.path != nil }

    private static func session(
        _ authority: TestAuthority?, _ encryption: FTPConfiguration.Encryption = .none, newest: Bool = true
    ) -> Session {
        var configuration = SessionConfiguration()
        if let authority { configuration.tls.anchors = .pem(authority.certificate) }
        configuration.ftp.encryption = encryption
        if !newest { configuration.tls.maximumVersion = .tls12 }
        return Session(configuration: configuration)
    }

    private static func request(_ scheme: String, _ kind: FTPServerKind, _ server: LoopbackServer) throws -> Request {
        Request(url: try URLRecord("\(scheme)://\(kind.user):secret@localhost:\(server.port)/big.bin"))
    }

    // Proves: NET-2.
    @Test(arguments: kinds, [true, false])
    func `a connection goes over to TLS, and a bad certificate ends it`(_ kind: FTPServerKind, _ newest: Bool)
        async throws
    {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.ftp(
            kind, files: Self.files, encryption: .explicit(try await authority.issue("server")))
        for encryption in [FTPConfiguration.Encryption.required, .ifOffered] {
            let session = Self.session(authority, encryption, newest: newest)
            let (body, _) = try await session.data(for: Self.request("ftp", kind, server))
            #expect(body == Self.files["big.bin"])
            await expect(.serverCertificateHasUnknownRoot) {
                try await Self.session(nil, encryption).data(for: Self.request("ftp", kind, server))
            }
        }
    }

    @Test(arguments: kinds)
    func `a server without TLS is refused when TLS is required`(_ kind: FTPServerKind) async throws {
        let server = try await LoopbackServer.ftp(kind, files: Self.files)
        await expect(.secureConnectionFailed) {
            try await Self.session(nil, .required).data(for: Self.request("ftp", kind, server))
        }
        let (body, _) = try await Self.session(nil, .ifOffered).data(for: Self.request("ftp", kind, server))
        #expect(body == Self.files["big.bin"])
    }

    // pyftpdlib has no implicit TLS.
    // Proves: NET-2, FN-19.
    @Test(arguments: kinds.filter { $0 != .pyftpdlib })
    func `ftps is encrypted from the first byte`(_ kind: FTPServerKind) async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.ftp(
            kind, files: Self.files, encryption: .implicit(try await authority.issue("server")))
        let (body, response) = try await Self.session(authority).data(for: Self.request("ftps", kind, server))
        #expect(body == Self.files["big.bin"])
        #expect(response.expectedContentLength == 1_000_000)
        await expect(.serverCertificateHasUnknownRoot) {
            try await Self.session(nil).data(for: Self.request("ftps", kind, server))
        }
    }
}
