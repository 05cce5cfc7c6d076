import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Negotiate with Kerberos beneath it, between MIT's key distribution centre and httpd.
@Suite(
    .serialized, .enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
struct KerberosTests {
    private static let aladdin = Credential(user: "aladdin@CAVE.TEST", password: Cave.password)

    private static func get(
        _ server: LoopbackServer, _ path: String = "/kerberos/page", _ delegate: ChallengeLog? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Int {
        var configuration = SessionConfiguration()
        change(&configuration)
        let request = Request(url: try URLRecord(server.url(path, host: "localhost")))
        return try await Session(configuration: configuration, delegate: delegate).data(for: request).1.status.code
    }

    /// Keeps the realm and the server until the body is done.
    private static func inCave(
        asJafar: Bool = false, _ body: (KerberosRealm, LoopbackServer) async throws -> Void
    ) async throws {
        let realm = try await KerberosRealm()
        realm.enter(asJafar: asJafar)
        try await body(realm, try await LoopbackServer.apache(realm: realm))
    }

    // Proves: AUT-1, AUT-9, AUT-25, FN-15.
    @Test func `a password gets the ticket, and the session's delegate is asked for it`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .useCredential(Self.aladdin) })
            #expect(try await Self.get(server, "/kerberos/page", log) == 200)
            #expect(log.events == ["session negotiate", "response 200", "completed"])
            #expect(log.challenges.first?.protectionSpace.realm == nil)
        }
    }

    // Proves: AUT-4, AUT-25.
    @Test func `a wrong password is counted, and nothing is sent with it`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { challenge in
                challenge.previousFailureCount == 0
                    ? .useCredential(Credential(user: "aladdin@CAVE.TEST", password: "wrong"))
                    : .useCredential(Self.aladdin)
            })
            #expect(try await Self.get(server, "/kerberos/page", log) == 200)
            #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
            #expect(try await server.accessLog(2).map { $0.split(separator: " ")[2] } == ["401", "200"])
        }
    }

    // Proves: AUT-13.
    @Test func `with a valid ticket nobody is asked`() async throws {
        try await Self.inCave(asJafar: true) { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .continueWithoutCredential })
            let status = try await Self.get(server, "/kerberos/page", log) {
                $0.authentication.usesKerberosTickets = true
            }
            #expect(status == 200 && log.challenges.isEmpty)
            #expect(try await server.accessLog(2).last == "GET /kerberos/page 200 jafar@CAVE.TEST")
        }
    }

    // The tickets of the process are used for those alone who say so, and a missing one is no failure.
    // Proves: AUT-13.
    @Test func `without permission or without a ticket the delegate is asked`() async throws {
        try await Self.inCave(asJafar: true) { (realm: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .continueWithoutCredential })
            #expect(try await Self.get(server, "/kerberos/page", log) == 401)
            #expect(log.challenges.count == 1)
            realm.enter()
            let other = ChallengeLog(session: { _ in .continueWithoutCredential })
            let status = try await Self.get(server, "/kerberos/page", other) {
                $0.authentication.usesKerberosTickets = true
            }
            #expect(status == 401 && other.challenges.map(\.previousFailureCount) == [0])
        }
    }

    // Proves: AUT-13.
    @Test func `two principals in parallel do not mix`() async throws {
        try await Self.inCave { (realm: KerberosRealm, server: LoopbackServer) async throws in
            try server.directory.write(Cave.treasure, to: "www/kerberos/page")
            try server.directory.write(Cave.treasure, to: "www/kerberos/lamp")
            let jafar = Credential(kerberosPrincipal: "jafar@CAVE.TEST", keytab: realm.keytabOfJafar)
            let session = Session()
            let urls = [
                server.url("/kerberos/page", host: "localhost"), server.url("/kerberos/lamp", host: "localhost"),
            ]
            try await withThrowingTaskGroup { group in
                for number in 0..<40 {
                    group.addTask {
                        let credential = number % 2 == 0 ? Self.aladdin : jafar
                        let log = ChallengeLog(task: { challenge in
                            challenge.previousFailureCount == 0
                                ? .useCredential(credential) : .continueWithoutCredential
                        })
                        let request = Request(url: try URLRecord(urls[number % 2]))
                        let (_, response) = try await session.data(for: request, delegate: log)
                        #expect(response.status.code == 200)
                    }
                }
                try await group.waitForAll()
            }
            let served = try await server.accessLog(80).filter { $0.contains(" 200 ") }
            #expect(served.count == 40)
            #expect(
                Set(served) == [
                    "GET /kerberos/page 200 aladdin@CAVE.TEST", "GET /kerberos/lamp 200 jafar@CAVE.TEST",
                ])
        }
    }

    // Proves: AUT-13, AUT-25.
    @Test func `keys in memory are as good as those in a file`() async throws {
        try await Self.inCave { (realm: KerberosRealm, server: LoopbackServer) async throws in
            let keys = Array(try Data(contentsOf: URL(filePath: realm.keytabOfJafar)))
            for (keys, status) in [(keys, 200), (Array(keys.prefix(20)), 401), ([], 401)] {
                let log = ChallengeLog(task: { challenge in
                    challenge.previousFailureCount == 0
                        ? .useCredential(Credential(kerberosPrincipal: "jafar@CAVE.TEST", keys: keys))
                        : .continueWithoutCredential
                })
                #expect(try await Self.get(server, "/kerberos/page", log) == status)
            }
            #expect(try await server.accessLog(2).contains("GET /kerberos/page 200 jafar@CAVE.TEST"))
        }
    }

    // The body arrives whole, and the ticket goes to its service alone.
    // Proves: AUT-24, UPL-7, RED-11.
    @Test func `an upload arrives whole`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { _ in .useCredential(Self.aladdin) })
            let request = Request(
                url: try URLRecord(server.url("/kerberos/file", host: "localhost")), method: .put,
                body: .bytes(pattern(300_000)))
            let (_, response) = try await Session(delegate: log).data(for: request)
            #expect(response.status.code == 201)
            let isWhole = server.directory.contents(of: "www/kerberos/file") == pattern(300_000)
            #expect(isWhole)
        }
    }

    // A service that has no key gets no ticket; another service name is asked for.
    // Proves: AUT-25.
    @Test func `the service name can be another`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { challenge in
                challenge.previousFailureCount == 0 ? .useCredential(Self.aladdin) : .continueWithoutCredential
            })
            let status = try await Self.get(server, "/kerberos/page", log) { $0.authentication.kerberosService = "nfs" }
            #expect(status == 401)
        }
    }

    // RFC 4559 §5.
    // Proves: AUT-25.
    @Test func `a server that cannot prove itself is not believed`() async throws {
        try await Self.inCave { (_: KerberosRealm, _: LoopbackServer) async throws in
            let impostor = try WireOrigin { connection in
                while let head = try connection.receiveHead() {
                    let isAuthenticated = head.contains("Authorization: Negotiate ")
                    let line = isAuthenticated ? "200 OK" : "401 Unauthorized"
                    let field = isAuthenticated ? "Negotiate oYG3MIG0oAMKAQCh" : "Negotiate"
                    try connection.send("HTTP/1.1 \(line)\r\nWWW-Authenticate: \(field)\r\nContent-Length: 0\r\n\r\n")
                }
            }
            let log = ChallengeLog(task: { _ in .useCredential(Self.aladdin) })
            let request = Request(url: try URLRecord("http://localhost:\(impostor.port)/"))
            await expect(.badServerResponse) { try await Session(delegate: log).data(for: request) }
        }
    }
}
