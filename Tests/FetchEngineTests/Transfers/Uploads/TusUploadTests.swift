import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Uploads by tus 1.0, which are made first and sent then.
@Suite(.timeLimit(.minutes(1))) struct TusUploadTests {
    private static let content = Array("0123456789".utf8)
    private static let made = "HTTP/1.1 201 Created\r\nLocation: /files/1\r\nTus-Resumable: 1.0.0\r\n\(empty)"
    private static let done = "HTTP/1.1 204 No Content\r\nUpload-Offset: 10\r\nTus-Resumable: 1.0.0\r\n\r\n"
    private static let conflict = "HTTP/1.1 409 Conflict\r\n\(empty)"
    private static let empty = "Content-Length: 0\r\n\r\n"

    private static func has(_ offset: Int) -> String {
        "HTTP/1.1 200 OK\r\nUpload-Offset: \(offset)\r\nUpload-Length: 10\r\nTus-Resumable: 1.0.0\r\n\(empty)"
    }

    private static func session(_ delegate: (any SessionDelegate)? = nil) -> Session {
        var configuration = SessionConfiguration()
        configuration.resumesUploads = true
        configuration.uploadProtocol = .tus
        return Session(configuration: configuration, delegate: delegate)
    }

    private static func request(_ origin: WireOrigin) throws -> Request {
        let metadata = try #require(HTTPField.Name("Upload-Metadata"))
        return Request(
            url: try URLRecord(origin.url("/files")), method: .post,
            headerFields: [.authorization: "Bearer x", metadata: "filename YS50eHQ="])
    }

    /// An origin that plays an answer to each request, on any number of connections, once it has the body.
    private static func origin(_ answers: [(body: Int, answer: String)]) throws -> WireOrigin {
        let next = Progress()
        return try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let (body, answer) = answers[min(next.add(1), answers.count) - 1]
                try connection.receive(body)
                try connection.send(answer)
            }
        }
    }

    /// The first lines of the requests, in the order of their connections; the digits before one are the content of the
    /// last.
    private static func heads(_ origin: WireOrigin) -> [String] {
        origin.connections.indices.flatMap { index in
            origin.received(on: index).split(separator: "\r\n").filter { $0.hasSuffix(" HTTP/1.1") }
                .map { String($0.drop { $0.isNumber }) }
        }
    }

    /// The error's data after a server that takes four bytes and breaks off, and then plays more answers.
    private static func brokenOff(
        then answers: [(body: Int, answer: String)]
    ) async throws -> (UploadResumeData?, WireOrigin) {
        let next = Progress()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                guard !head.contains("\r\nUpload-Offset: 0\r\n") else {
                    try connection.receive(4)
                    return
                }
                guard !head.hasPrefix("POST") || next.value > 0 else {
                    try connection.send(made)
                    continue
                }
                let (body, answer) = answers[min(next.add(1), answers.count) - 1]
                try connection.receive(body)
                try connection.send(answer)
            }
        }
        do {
            _ = try await session().upload(for: try request(origin), from: .bytes(content))
            return (nil, origin)
        } catch let error as LoadError {
            #expect(error.code == .networkConnectionLost)
            return (error.uploadResumeData, origin)
        }
    }

    // Proves: BEY-12.
    @Test func `an upload is made with its length, and then sent to where the server keeps it`() async throws {
        let origin = try Self.origin([(0, Self.made), (10, Self.done)])
        let task = Self.session().uploadTask(with: try Self.request(origin), from: .bytes(Self.content))
        #expect(try await task.data().1.status == .noContent)
        #expect(task.metrics.transactions.map(\.status) == [201, 204])
        let sent = origin.received()
        let parts = sent.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)
        #expect(parts.count == 3 && parts.last == "0123456789")
        for line in ["Tus-Resumable: 1.0.0", "Authorization: Bearer x"] {
            #expect(sent.ranges(of: "\r\n\(line)").count == 2, "\(line)")
        }
        #expect(parts.first?.hasPrefix("POST /files HTTP/1.1\r\n") == true)
        for line in ["Upload-Length: 10", "Content-Length: 0", "Upload-Metadata: filename YS50eHQ="] {
            #expect(parts.first?.contains("\r\n\(line)") == true, "\(line)")
        }
        #expect(parts.dropFirst().first?.hasPrefix("PATCH /files/1 HTTP/1.1\r\n") == true)
        for line in ["Upload-Offset: 0", "Content-Length: 10", "Content-Type: application/offset+octet-stream"] {
            #expect(parts.dropFirst().first?.contains("\r\n\(line)") == true, "\(line)")
        }
        #expect(!sent.contains("Upload-Complete") && !sent.contains("Upload-Draft"))
    }

    // The data also by way of bytes, as another process would get it.
    // Proves: BEY-12.
    @Test(arguments: ["bytes", "file", "stream"])
    func `an upload that breaks off goes on from where the server is`(_ kind: String) async throws {
        let (data, origin) = try await Self.brokenOff(then: [(0, Self.has(4)), (6, Self.done)])
        let bytes = try #require(data?.bytes)
        #expect(data?.uploadURL.description == origin.url("/files/1") && data?.uploadProtocol == .tus)
        #expect(try UploadResumeData(bytes: bytes) == data)
        let file = try TemporaryFile(Self.content)
        let pipe = BodyPipe()
        try await pipe.write(Self.content)
        pipe.finish()
        let body: RequestBody =
            switch kind {
            case "file": .file(path: file.path)
            case "stream": .stream(length: 10, pipe)
            default: .bytes(Self.content)
            }
        // The data says which protocol it is for.
        let task = Session().uploadTask(
            withResumeData: try UploadResumeData(bytes: bytes), request: try Self.request(origin), from: body)
        #expect(try await task.data().1.status == .noContent)
        #expect(task.countOfBytesSent == 6)
        #expect(
            Self.heads(origin) == [
                "POST /files HTTP/1.1", "PATCH /files/1 HTTP/1.1", "HEAD /files/1 HTTP/1.1", "PATCH /files/1 HTTP/1.1",
            ])
        let last = origin.received(on: origin.connections.count - 1)
        #expect(last.contains("\r\nUpload-Offset: 4\r\n") && last.hasSuffix("\r\n\r\n456789"))
        #expect(last.ranges(of: "\r\nTus-Resumable: 1.0.0\r\n").count == 2)
        withExtendedLifetime(file) {}
    }

    @Test func `an upload that is complete is not sent, one that is forgotten is made anew, a conflict asks again`()
        async throws
    {
        let gone = "HTTP/1.1 410 Gone\r\n\(Self.empty)"
        let cases: [([(body: Int, answer: String)], status: Int, methods: String)] = [
            ([(0, Self.has(10))], 200, "HEAD"),
            ([(0, gone), (0, Self.made), (10, Self.done)], 204, "HEAD POST PATCH"),
            ([(0, Self.has(4)), (6, Self.conflict), (0, Self.has(7)), (3, Self.done)], 204, "HEAD PATCH HEAD PATCH"),
        ]
        let (data, first) = try await Self.brokenOff(then: [])
        let resume = try #require(data)
        for (answers, status, methods) in cases {
            let origin = try Self.origin(answers)
            var moved = resume
            moved.url = try URLRecord(origin.url("/files"))
            moved.uploadURL = try URLRecord(origin.url("/files/1"))
            let task = Self.session().uploadTask(
                withResumeData: moved, request: try Self.request(origin), from: .bytes(Self.content))
            #expect(try await task.data().1.status.code == status)
            #expect(Self.heads(origin).compactMap { $0.split(separator: " ").first }.joined(separator: " ") == methods)
        }
        withExtendedLifetime(first) {}
    }

    // Proves: BEY-12.
    @Test func `cancelling gives the data`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(Self.made)
            try connection.receiveHead()
            gate.open()
            try connection.receiveToEnd()
        }
        let pipe = BodyPipe()
        // A task with a delegate runs by itself.
        let session = Self.session(DelegateLog())
        let task = session.uploadTask(with: try Self.request(origin), from: .stream(length: 10, pipe))
        task.resume()
        try await onThread { try gate.wait() }
        let data = try #require(await task.cancelProducingResumeData())
        #expect(data.uploadURL.description == origin.url("/files/1"))
        #expect(task.error?.code == .cancelled && task.error?.uploadResumeData == data)
    }

    // What it is given is not lost: it gets the request as it would without tus.
    @Test func `a server that does not speak it gets the whole at once, a refusal is the result`() async throws {
        let plain = "HTTP/1.1 200 OK\r\n\(Self.empty)"
        let origin = try Self.origin([(0, plain), (10, plain)])
        let task = Self.session().uploadTask(with: try Self.request(origin), from: .bytes(Self.content))
        #expect(try await task.data().1.status == .ok)
        #expect(Self.heads(origin) == ["POST /files HTTP/1.1", "POST /files HTTP/1.1"])
        #expect(origin.received().hasSuffix("\r\n\r\n0123456789"))
        let strict = try Self.origin([(0, "HTTP/1.1 413 Too Large\r\n\(Self.empty)")])
        let refused = Self.session().uploadTask(with: try Self.request(strict), from: .bytes(Self.content))
        #expect(try await refused.data().1.status.code == 413)
        #expect(Self.heads(strict).count == 1)
    }
}
