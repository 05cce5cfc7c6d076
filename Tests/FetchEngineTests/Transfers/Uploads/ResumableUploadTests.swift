import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Uploads that go on where they stopped (draft-ietf-httpbis-resumable-upload).
@Suite(.timeLimit(.minutes(1))) struct ResumableUploadTests {
    private static let done = "HTTP/1.1 201 Created\r\nUpload-Complete: ?1\r\nContent-Length: 2\r\n\r\nok"
    private static let content = Array("0123456789".utf8)

    private static func supported(_ location: String = "/uploads/1") -> String {
        "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: \(location)\r\nUpload-Draft-Interop-Version: 6\r\n\r\n"
    }

    private static func has(_ offset: Int, complete: Bool = false) -> String {
        "HTTP/1.1 204 No Content\r\nUpload-Offset: \(offset)\r\nUpload-Complete: ?\(complete ? 1 : 0)\r\n\r\n"
    }

    private static func session(_ delegate: (any SessionDelegate)? = nil) -> Session {
        var configuration = SessionConfiguration()
        configuration.resumesUploads = true
        configuration.httpAdditionalHeaders = [.userAgent: "tests"]
        return Session(configuration: configuration, delegate: delegate)
    }

    private static func post(_ origin: WireOrigin, _ path: String = "/files") throws -> Request {
        Request(url: try URLRecord(origin.url(path)), method: .post, headerFields: [.authorization: "Bearer x"])
    }

    /// The resume data after a server that keeps four bytes and breaks off.
    private static func brokenOff(
        _ location: String = "/uploads/1", body: RequestBody = .bytes(content)
    ) async throws -> (UploadResumeData?, WireOrigin) {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(supported(location))
            try connection.receive(4)
        }
        do {
            _ = try await session().upload(for: try post(origin), from: body)
            return (nil, origin)
        } catch let error as LoadError {
            #expect(error.code == .networkConnectionLost)
            return (error.uploadResumeData, origin)
        }
    }

    /// An origin that plays an answer to each request, and the request bodies it got.
    private static func origin(_ answers: [(body: Int, answer: String)]) throws -> WireOrigin {
        try WireOrigin { connection in
            for (body, answer) in answers {
                try connection.receiveHead()
                try connection.receive(body)
                try connection.send(answer)
            }
        }
    }

    /// The data with its URLs at another origin, as though the first one had come back.
    private static func data(at origin: WireOrigin) throws -> UploadResumeData {
        UploadResumeData(request: try post(origin), uploadURL: try URLRecord(origin.url("/uploads/1")))
    }

    // Proves: BEY-12, FN-23.
    @Test func `an upload asks to be kept, and one that breaks off says where it is`() async throws {
        let (data, origin) = try await Self.brokenOff()
        let head = origin.received()
        #expect(head.hasPrefix("POST /files HTTP/1.1\r\n"))
        #expect(head.contains("\r\nUpload-Complete: ?1\r\nUpload-Draft-Interop-Version: 6\r\n"))
        #expect(data?.uploadURL.description == origin.url("/uploads/1"))
        #expect(data?.url.description == origin.url("/files") && data?.method == .post)
        let bytes = try #require(data?.bytes)
        #expect(try UploadResumeData(bytes: bytes) == data)
        for index in bytes.indices {
            #expect(throws: LoadError.self) { try UploadResumeData(bytes: Array(bytes[..<index])) }
        }
    }

    // Proves: BEY-12, FN-23.
    @Test(arguments: ["bytes", "file", "segments", "stream"])
    func `the server is asked what it has and gets the rest, from every kind of body`(_ kind: String) async throws {
        let file = try TemporaryFile(Self.content)
        let body: RequestBody =
            switch kind {
            case "file": .file(path: file.path)
            case "segments": .segments([.bytes(Array("01".utf8)), .bytes(Array("23456789".utf8))])
            case "stream": .stream(length: 10, Self.pipe())
            default: .bytes(Self.content)
            }
        let origin = try Self.origin([(0, Self.has(4)), (6, Self.done)])
        let task = Self.session().uploadTask(
            withResumeData: try Self.data(at: origin), request: try Self.post(origin), from: body)
        let (answer, response) = try await task.data()
        #expect(answer == Array("ok".utf8) && response.status == .created)
        let sent = origin.received()
        #expect(sent.hasPrefix("HEAD /uploads/1 HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nPATCH /uploads/1 HTTP/1.1\r\n"))
        for line in [
            "Upload-Offset: 4", "Upload-Complete: ?1", "Content-Type: application/partial-upload",
            "Content-Length: 6",
        ] { #expect(sent.ranges(of: "\r\n\(line)\r\n").count == 1, "\(line)") }
        #expect(sent.ranges(of: "\r\nAuthorization: Bearer x\r\n").count == 2)
        #expect(sent.ranges(of: "\r\nUser-Agent: tests\r\n").count == 2)
        #expect(sent.hasSuffix("\r\n\r\n456789"))
        #expect(task.countOfBytesSent == 6)
    }

    private static func pipe() -> DelegatedPipe { DelegatedPipe() }

    @Test func `an upload that was complete is not sent again`() async throws {
        let origin = try Self.origin([(0, Self.has(10, complete: true))])
        let (_, response) = try await Self.resume(at: origin)
        #expect(response.status == .noContent)
    }

    @Test func `a server that has forgotten it gets all of it`() async throws {
        for answer in ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 204 No Content\r\nUpload-Offset: 11\r\n\r\n"] {
            let origin = try Self.origin([(0, answer), (10, Self.done)])
            #expect(try await Self.resume(at: origin).1.status == .created)
            #expect(origin.received().contains("\r\nPOST /files HTTP/1.1\r\n"))
            #expect(origin.received().hasSuffix("\r\n\r\n0123456789"))
        }
    }

    @Test func `a server that has another part than it said is asked again, and not for ever`() async throws {
        let conflict = "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"
        let origin = try Self.origin([(0, Self.has(4)), (6, conflict), (0, Self.has(7)), (3, Self.done)])
        #expect(try await Self.resume(at: origin).1.status == .created)
        #expect(origin.received().hasSuffix("\r\n\r\n789"))
        let stubborn = try Self.origin(Array(repeating: [(0, Self.has(4)), (6, conflict)], count: 4).flatMap { $0 })
        #expect(try await Self.resume(at: stubborn).1.status == .conflict)
        #expect(stubborn.received().ranges(of: "PATCH ").count == 3)
    }

    @Test func `another request than the earlier one starts from the beginning`() async throws {
        let origin = try Self.origin([(10, Self.done)])
        let task = Self.session().uploadTask(
            withResumeData: try Self.data(at: origin), request: try Self.post(origin, "/other"),
            from: .bytes(Self.content))
        #expect(try await task.data().1.status == .created)
        #expect(origin.received().hasPrefix("POST /other "))
    }

    // Proves: BEY-12.
    @Test func `cancelling gives the data, and a task that goes on gives it again`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(head.hasPrefix("POST") ? Self.supported() : Self.has(4))
                if !head.hasPrefix("HEAD") { try connection.receiveToEnd() }
            }
        }
        let log = DelegateLog()
        let session = Self.session(log)
        let pipe = BodyPipe()
        let first = session.uploadTask(with: try Self.post(origin), from: .stream(length: 10, pipe))
        first.resume()
        try await log.happened("informational 104")
        let data = try #require(await first.cancelProducingResumeData())
        #expect(first.error?.code == .cancelled && first.error?.uploadResumeData == data)
        let second = session.uploadTask(
            withResumeData: data, request: try Self.post(origin), from: .bytes(Self.content))
        #expect(await second.cancelProducingResumeData() == data)
    }

    // The URL by which clients may add to an upload is not sent to everybody.
    // Proves: RED-12, SEC-31.
    @Test(arguments: ["ftp://h.example/", "http://u:p@127.0.0.1/x", "http://[::1"])
    func `a place that is none is not believed`(_ location: String) async throws {
        #expect(try await Self.brokenOff(location).0 == nil)
    }

    // Proves: RED-11.
    @Test func `credentials do not follow to another origin`() async throws {
        let elsewhere = try Self.origin([(0, Self.has(4)), (6, Self.done)])
        let (data, origin) = try await Self.brokenOff("http://127.0.0.1:\(elsewhere.port)/uploads/1")
        let task = Self.session().uploadTask(
            withResumeData: try #require(data), request: try Self.post(origin), from: .bytes(Self.content))
        #expect(try await task.data().1.status == .created)
        #expect(!elsewhere.received().contains("Authorization"))
    }

    @Test func `without the option, or for coded bodies, nothing is asked`() async throws {
        let origin = try Self.origin([(10, Self.done)])
        _ = try await Session().upload(for: try Self.post(origin), from: .bytes(Self.content))
        #expect(!origin.received().contains("Upload-"))
        let other = try WireOrigin { connection in
            try connection.receiveHead()
            _ = try connection.receiveChunked()
            try connection.send(Self.done)
        }
        var request = try Self.post(other)
        request.bodyCoding = .gzip
        _ = try await Self.session().upload(for: request, from: .bytes(Self.content))
        #expect(!other.received().contains("Upload-"))
    }

    private static func resume(at origin: WireOrigin) async throws -> ([UInt8], Response) {
        try await session().uploadTask(
            withResumeData: try data(at: origin), request: try post(origin), from: .bytes(content)
        ).data()
    }

    /// A stream that begins at the first byte each time it is asked for.
    private struct DelegatedPipe: BodyStreamProvider {
        func makeStream() async -> BodyPipe? {
            let pipe = BodyPipe()
            // Bytes that fit the pipe are written at once.
            try? await pipe.write(ResumableUploadTests.content)
            pipe.finish()
            return pipe
        }
    }
}
