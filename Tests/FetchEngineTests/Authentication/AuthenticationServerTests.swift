import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Challenges of servers that others wrote.
@Suite(.serialized) struct AuthenticationServerTests {
    private static func credential(_ password: String = Cave.password, user: String = Cave.user) -> Credential {
        Credential(user: user, password: password, persistence: .forSession)
    }

    private static let hasApache = LoopbackServer.hasApache(modules: "auth_digest", "auth_basic", "dav_fs")
    private static let hasPython = LoopbackServer.python("gunicorn") != nil
    private static func get(
        _ url: String, _ delegate: ChallengeLog? = nil, in session: Session? = nil
    ) async throws -> (String, Int) {
        let (body, response) = try await (session ?? Session()).data(
            for: Request(url: try URLRecord(url)), delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response.status.code)
    }

    // Proves: AUT-1, AUT-14, AUT-22, AUT-23, AUT-8.
    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"])
    func `httpd lets in who knows the word, asks again who does not`(_ area: String) async throws {
        let server = try await LoopbackServer.apache()
        let log = ChallengeLog(using: Self.credential("wrong"), Self.credential())
        let (page, status) = try await Self.get(server.url("/\(area)/page"), log)
        #expect(status == 200 && page == Cave.treasure)
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(log.challenges.first?.protectionSpace.realm == Cave.realm)
        #expect(log.challenges.first?.protectionSpace.method == (area == "basic" ? .httpBasic : .httpDigest))
        let refused = try await Self.get(server.url("/\(area)/page"))
        #expect(refused.1 == 401)
    }

    // Three loads, one challenge, four requests.
    // Proves: AUT-22, AUT-23, CRD-4.
    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"])
    func `httpd is sent what it let in before without being asked`(_ area: String) async throws {
        let server = try await LoopbackServer.apache()
        let log = ChallengeLog(using: Self.credential())
        let session = Session(delegate: log)
        for _ in 0..<3 { #expect(try await Self.get(server.url("/\(area)/page"), in: session).1 == 200) }
        #expect(log.challenges.count == 1)
        // Its threads write their lines in any order.
        let lines = try await server.accessLog(4).sorted()
        #expect(lines == (0..<3).map { _ in "GET /\(area)/page 200 \(Cave.user)" } + ["GET /\(area)/page 401 -"])
    }

    // Also in nothing that the server writes down.
    // Proves: AUT-7, URL-10.
    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"])
    func `httpd accepts the user name and password of the URL`(_ area: String) async throws {
        let server = try await LoopbackServer.apache()
        let url = "http://\(Cave.user):open%20sesame@127.0.0.1:\(server.port)/\(area)/page"
        #expect(try await Self.get(url).1 == 200)
        #expect(try await server.accessLog(2).allSatisfy { !$0.contains("sesame") })
    }

    // Proves: AUT-19, CRD-9.
    @Test(.enabled(if: hasApache))
    func `httpd sees exactly one attempt where the rule is one`() async throws {
        let server = try await LoopbackServer.apache()
        let log = ChallengeLog(using: Self.credential("wrong"))
        await expect(.userCancelledAuthentication) { try await Self.get(server.url("/basic/page"), log) }
        #expect(try await server.accessLog(2).count == 2)
    }

    // The file arrives whole with the second request.
    // Proves: UPL-7, AUT-14.
    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"], [1, 65_537, 3_000_000])
    func `an upload that httpd refuses at first arrives whole`(_ area: String, _ count: Int) async throws {
        let server = try await LoopbackServer.apache()
        let file = try TemporaryFile(pattern(count))
        for (name, body) in [("bytes", RequestBody.bytes(pattern(count))), ("file", .file(path: file.path))] {
            let log = ChallengeLog(using: Self.credential())
            let request = Request(
                url: try URLRecord(server.url("/\(area)/\(name)")), method: .put, body: body)
            let (_, response) = try await Session(delegate: log).data(for: request)
            #expect(response.status.code == 201)
            // Compared apart: an expectation would print every byte.
            let isWhole = server.directory.contents(of: "www/\(area)/\(name)") == pattern(count)
            #expect(isWhole)
            #expect(log.events == ["task http\(area == "basic" ? "Basic" : "Digest")", "response 201", "completed"])
        }
    }

    // The delegate gives a stream for the request and another for its repetition.
    // Proves: UPL-6, LIF-8.
    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"], [1, 200_000])
    func `a streamed upload is asked for again after the challenge`(_ area: String, _ count: Int) async throws {
        let server = try await LoopbackServer.apache()
        let log = ChallengeLog(
            task: { _ in .useCredential(Self.credential()) },
            stream: {
                let pipe = BodyPipe(capacity: count + 1)
                guard (try? await pipe.write(pattern(count))) != nil else { return nil }
                pipe.finish()
                return pipe
            })
        let request = Request(url: try URLRecord(server.url("/\(area)/stream")), method: .put)
        let task = Session(delegate: log).uploadTask(withStreamedRequest: request, length: Int64(count))
        let (_, response) = try await task.data()
        #expect(response.status.code == 201)
        let isWhole = server.directory.contents(of: "www/\(area)/stream") == pattern(count)
        #expect(isWhole)
        #expect(log.events.count { $0 == "stream" } == 2)
    }

    // Proves: AUT-6, AUT-22.
    @Test(.enabled(if: LoopbackServer.installed("nginx") != nil))
    func `nginx lets in who knows the word, and its silent 401 asks nobody`() async throws {
        let server = try await LoopbackServer.nginxCave()
        let log = ChallengeLog(using: Self.credential("wrong"), Self.credential())
        #expect(try await Self.get(server.url("/basic/page"), log) == (Cave.treasure, 200))
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
        let silent = ChallengeLog(using: Self.credential())
        #expect(try await Self.get(server.url("/silent"), silent).1 == 401)
        #expect(silent.challenges.isEmpty)
    }

    // Proves: AUT-22, CON-4.
    @Test(.enabled(if: hasPython))
    func `httpbin lets Basic in, and hides a place without asking`() async throws {
        let server = try await LoopbackServer.httpbin()
        let log = ChallengeLog(using: Self.credential("sesame"))
        #expect(try await Self.get(server.url("/basic-auth/aladdin/sesame"), log).1 == 200)
        #expect(try await Self.get(server.url("/basic-auth/aladdin/sesame")).1 == 401)
        let hidden = ChallengeLog(using: Self.credential("sesame"))
        #expect(try await Self.get(server.url("/hidden-basic-auth/aladdin/sesame"), hidden).1 == 404)
        #expect(hidden.challenges.isEmpty)
    }

    // Proves: AUT-23, FN-10, FN-15.
    @Test(.enabled(if: hasPython), arguments: ["auth", "auth-int"], ["MD5", "SHA-256", "SHA-512"])
    func `httpbin accepts Digest`(_ protection: String, _ algorithm: String) async throws {
        let server = try await LoopbackServer.httpbin()
        let log = ChallengeLog(using: Self.credential("wrong"), Self.credential("sesame"))
        let url = server.url("/digest-auth/\(protection)/aladdin/sesame/\(algorithm)")
        #expect(try await Self.get(url, log).1 == 200)
        #expect(log.challenges.map(\.protectionSpace.method) == [.httpDigest, .httpDigest])
    }

    // Proves: AUT-4.
    @Test(.enabled(if: hasApache))
    func `failures are counted through all of a task`() async throws {
        let server = try await LoopbackServer.apache()
        let log = ChallengeLog(using: Self.credential("1"), Self.credential("2"), Self.credential("3"))
        await expect(.userCancelledAuthentication) { try await Self.get(server.url("/digest/page"), log) }
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1, 2, 3])
    }
}
