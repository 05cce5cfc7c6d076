import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// HTTP Digest on the wire.
@Suite struct HTTPDigestTests {
    /// A server of Digest that takes each nonce so often, checks every answer by the book, and keeps the fields.
    private final class Origin: Sendable {
        struct State {
            var uses = 0
            var number = 1
            var fields: [[String: String]] = []
        }

        let state = Mutex(State())
        let uses: Int
        let more: String
        let nextNonce: String?

        init(uses: Int = .max, more: String = "", nextNonce: String? = nil) {
            (self.uses, self.more, self.nextNonce) = (uses, more, nextNonce)
        }

        var fields: [[String: String]] { state.withLock { $0.fields } }

        func listen() throws -> WireOrigin {
            try WireOrigin { [self] connection in
                while let head = try connection.receiveHead() {
                    let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                    let content = try connection.receive(length.flatMap { Int($0.dropFirst(16)) } ?? 0)
                    try connection.send(answer(to: head, content))
                }
            }
        }

        private func answer(to head: String, _ content: [UInt8]) -> String {
            state.withLock { state in
                guard let line = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Authorization: Digest ") })
                else { return refusal(&state, isStale: false) }
                var parser = AuthenticationFieldParser()
                parser.read(Array(line.dropFirst(15).utf8))
                let parameters = (parser.challenges.first?.parameters ?? [])
                    .map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }
                let field = Dictionary(parameters) { first, _ in first }
                state.fields.append(field)
                guard Self.isRight(field, String(head.split(separator: " ")[0]), content) else {
                    return refusal(&state, isStale: false)
                }
                let isKnown = field["nonce"] == "n\(state.number)" || field["nonce"] == nextNonce
                guard isKnown, state.uses < uses else {
                    (state.number, state.uses) = (state.number + 1, 0)
                    return refusal(&state, isStale: true)
                }
                state.uses += 1
                let info = nextNonce.map { "Authentication-Info: qop=auth, nextnonce=\"\($0)\"\r\n" } ?? ""
                return "HTTP/1.1 200 OK\r\n\(info)Content-Length: 2\r\n\r\nhi"
            }
        }

        private func refusal(_ state: inout State, isStale: Bool) -> String {
            let stale = isStale ? ", stale=true" : ""
            let offer = "Digest realm=\"r\", nonce=\"n\(state.number)\", qop=\"auth\"\(stale)"
            return "HTTP/1.1 401 No\r\nWWW-Authenticate: \(more.isEmpty ? offer : more)\r\nContent-Length: 0\r\n\r\n"
        }

        /// RFC 7616 §3.4.1, written down once more.
        private static func isRight(_ field: [String: String], _ method: String, _ content: [UInt8]) -> Bool {
            let algorithm = DigestAlgorithm(name: field["algorithm"] ?? "MD5") ?? .md5
            func hash(_ text: String) -> String {
                String(decoding: algorithm.hash(Array(text.utf8)) ?? [], as: UTF8.self)
            }
            let (qop, uri) = (field["qop"] ?? "", field["uri"] ?? "")
            let contentHash = String(decoding: algorithm.hash(content) ?? [], as: UTF8.self)
            let request = hash("\(method):\(uri)" + (qop == "auth-int" ? ":" + contentHash : ""))
            let parts = ["nonce", "nc", "cnonce"].map { field[$0] ?? "" }.joined(separator: ":")
            return field["response"] == hash("\(hash("u:r:p")):\(parts):\(qop):\(request)")
        }
    }

    private static let credential = Credential(user: "u", password: "p", persistence: .forSession)

    // The count goes on over loads, and a stale nonce asks nobody.
    // Proves: AUT-23.
    @Test func `one nonce serves many loads, and a stale one is replaced without a question`() async throws {
        let server = Origin(uses: 3)
        let origin = try server.listen()
        let log = ChallengeLog(using: Self.credential)
        let session = Session(delegate: log)
        for number in 0..<7 {
            let request = Request(url: try URLRecord(origin.url("/\(number)?q")))
            #expect(try await session.data(for: request).1.status.code == 200)
        }
        #expect(log.challenges.count == 1)
        #expect(
            server.fields.map { "\($0["nonce"] ?? "") \($0["nc"] ?? "")" } == [
                "n1 00000001", "n1 00000002", "n1 00000003", "n1 00000004", "n2 00000001", "n2 00000002",
                "n2 00000003", "n2 00000004", "n3 00000001",
            ])
        #expect(server.fields.map { $0["uri"] ?? "" }.prefix(2) == ["/0?q", "/1?q"])
        #expect(Set(server.fields.map { $0["cnonce"] ?? "" }).count == 9)
    }

    // RFC 7616 §3.5.
    // Proves: AUT-23.
    @Test func `the nonce that the server names for the next request is used`() async throws {
        let server = Origin(nextNonce: "next")
        let origin = try server.listen()
        let session = Session(delegate: ChallengeLog(using: Self.credential))
        for _ in 0..<3 { _ = try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        #expect(server.fields.map { $0["nonce"] ?? "" } == ["n1", "next", "next"])
        #expect(server.fields.map { $0["nc"] ?? "" } == ["00000001", "00000001", "00000001"])
    }

    // The content is part of the answer.
    // Proves: AUT-23.
    @Test(arguments: ["MD5", "SHA-256", "SHA-512-256"])
    func `auth-int covers the body, from memory, a file or several parts`(_ algorithm: String) async throws {
        let offer = "Digest realm=\"r\", nonce=\"n1\", qop=\"auth-int\", algorithm=\(algorithm)"
        let file = try TemporaryFile(pattern(100_000))
        for body in [
            RequestBody.bytes(pattern(1000)), .file(path: file.path),
            .segments([.bytes([1, 2]), .file(path: file.path)]),
        ] {
            let server = Origin(more: offer)
            let origin = try server.listen()
            let log = ChallengeLog(using: Self.credential)
            let request = Request(url: try URLRecord(origin.url()), method: .post, body: body)
            #expect(try await Session(delegate: log).data(for: request).1.status.code == 200)
            #expect(server.fields.map { $0["qop"] ?? "" } == ["auth-int"])
        }
    }

    // A stream can be read only once, so its hash cannot be sent before it.
    // Proves: AUT-23.
    @Test func `auth-int and a stream do not go together, and the next scheme is asked for`() async throws {
        let server = Origin(
            more: "Digest realm=\"r\", nonce=\"n1\", qop=\"auth-int\", Basic realm=\"b\"")
        let origin = try server.listen()
        let log = ChallengeLog(
            task: { challenge in
                challenge.protectionSpace.method == .httpDigest
                    ? .useCredential(Self.credential) : .continueWithoutCredential
            },
            stream: {
                let pipe = BodyPipe()
                pipe.finish()
                return pipe
            })
        let request = Request(url: try URLRecord(origin.url()), method: .post)
        let task = Session(delegate: log).uploadTask(withStreamedRequest: request, length: 0)
        #expect(try await task.data().1.status.code == 401)
        #expect(log.challenges.map(\.protectionSpace.method) == [.httpDigest, .httpBasic])
        #expect(log.challenges.map(\.previousFailureCount) == [0, 0])
    }

    // Digest state of one server is nothing to another.
    // Proves: AUT-23, SEC-20.
    @Test func `another server is told nothing`() async throws {
        let (first, second) = (Origin(), Origin())
        let (origin, other) = (try first.listen(), try second.listen())
        let session = Session(delegate: ChallengeLog(using: Self.credential))
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        _ = try await session.data(
            for: Request(url: try URLRecord(other.url())),
            delegate: ChallengeLog(task: { _ in .continueWithoutCredential }))
        #expect(first.fields.count == 1 && second.fields.isEmpty)
    }
}
