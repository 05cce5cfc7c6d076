import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Conditional and compressed uploads.
@Suite(.timeLimit(.minutes(1))) struct BodyCodingTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    // httpd takes a body that shrinks to less than a two-hundredth for an attack.
    private static let text = Array((0..<20_000).map { "All work and no play, \($0). " }.joined().utf8)

    private static func decoded(_ bytes: [UInt8], _ coding: BodyCoding) throws -> [UInt8] {
        var decoder = try #require(try ContentDecoder(coding: coding.rawValue, limit: DecodingLimits()))
        bytes.withUnsafeBytes { decoder.append($0) }
        var output: [UInt8] = []
        try decoder.read(into: &output, upTo: .max)
        try decoder.finish()
        return output
    }

    private static func bodies() throws -> [(RequestBody, [UInt8], TemporaryFile)] {
        let file = try TemporaryFile(text)
        return [
            (.bytes(text), text, file), (.bytes([]), [], file), (.file(path: file.path), text, file),
            (.segments([.bytes([1, 2]), .file(path: file.path)]), [1, 2] + text, file),
        ]
    }

    // Proves: BEY-30.
    @Test(arguments: BodyCoding.allCases) func `every kind of body is sent in the coding that was asked for`(
        _ coding: BodyCoding
    ) async throws {
        for (body, content, file) in try Self.bodies() {
            let origin = try WireOrigin { connection in
                try connection.receiveHead()
                let sent = try connection.receiveChunked()
                #expect(try Self.decoded(sent, coding).elementsEqual(content))
                #expect(content.isEmpty || sent.count < content.count / 4)
                try connection.send(Self.ok)
            }
            var request = Request(url: try URLRecord(origin.url()), method: .put)
            request.bodyCoding = coding
            let task = Session().uploadTask(with: request, from: body)
            #expect(task.countOfBytesExpectedToSend == nil)
            #expect(try await task.data().1.status.code == 200)
            #expect(origin.received().contains("\r\nContent-Encoding: \(coding.rawValue)\r\n"))
            #expect(!origin.received().contains("Content-Length"))
            withExtendedLifetime(file) {}
        }
    }

    @Test func `a stream is coded as it comes, at the writer's pace`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            let sent = try connection.receiveChunked()
            #expect(try Self.decoded(sent, .gzip).elementsEqual(Self.text))
            try connection.send(Self.ok)
        }
        var request = Request(url: try URLRecord(origin.url()), method: .post)
        request.bodyCoding = .gzip
        let pipe = BodyPipe(capacity: 1000)
        let task = Session().uploadTask(with: request, from: .stream(length: Int64(Self.text.count), pipe))
        async let answer = task.data()
        for start in stride(from: 0, to: Self.text.count, by: 7777) {
            try await pipe.write(Array(Self.text[start..<min(start + 7777, Self.text.count)]))
        }
        pipe.finish()
        #expect(try await answer.1.status.code == 200)
    }

    // Proves: UPL-11.
    @Test func `a body that is sent again is coded again from its beginning`() async throws {
        let origin = try WireOrigin { connection in
            for answer in ["HTTP/1.1 307 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", Self.ok] {
                try connection.receiveHead()
                #expect(try Self.decoded(try connection.receiveChunked(), .zstd).elementsEqual(Self.text))
                try connection.send(answer)
            }
        }
        var request = Request(url: try URLRecord(origin.url()), method: .put, body: .bytes(Self.text))
        request.bodyCoding = .zstd
        #expect(try await Session().data(for: request).1.status.code == 200)
        #expect(origin.received().ranges(of: "Content-Encoding: zstd\r\n").count == 2)
    }

    @Test func `a coding comes behind those that the body has already, and without a body there is none`() async throws
    {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            _ = try connection.receiveChunked()
            try connection.send(Self.ok)
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        var request = Request(url: try URLRecord(origin.url()), method: .put, body: .bytes([1]))
        request.bodyCoding = .gzip
        request.headerFields[.contentEncoding] = "aes128gcm"
        _ = try await Session().data(for: request)
        #expect(origin.received().contains("\r\nContent-Encoding: aes128gcm, gzip\r\n"))
        var get = Request(url: try URLRecord(origin.url()))
        get.bodyCoding = .gzip
        let other = try WireOrigin(playing: Self.ok)
        get.url = try URLRecord(other.url())
        _ = try await Session().data(for: get)
        #expect(!other.received().contains("Content-Encoding"))
    }

    // Proves: BEY-30.
    @Test func `a precondition is the response's strong tag, else its date`() throws {
        let tagged = try Response.make(200, "ETag: \"a\"", "Last-Modified: \(Dates.now)")
        #expect(Precondition(unchangedSince: tagged) == .matches(entityTag: "\"a\""))
        let weak = try Response.make(200, "ETag: W/\"a\"", "Last-Modified: \(Dates.now)")
        #expect(Precondition(unchangedSince: weak) == .unmodified(since: Dates.now))
        #expect(Precondition(unchangedSince: try Response.make(200, "ETag: W/\"a\"")) == nil)
        var request = try Request.make(.put, "http://h.test/", "If-None-Match: \"z\"")
        request.setPrecondition(.matches(entityTag: "\"a\""))
        #expect(request.headerFields == HTTPFields(lines: ["If-Match: \"a\""]))
        request.setPrecondition(.doesNotExist)
        #expect(request.headerFields == HTTPFields(lines: ["If-None-Match: *"]))
        request.setPrecondition(.unmodified(since: Dates.now))
        #expect(request.headerFields == HTTPFields(lines: ["If-Unmodified-Since: \(Dates.now)"]))
        request.setPrecondition(nil)
        #expect(request.headerFields.isEmpty)
    }

    // Proves: BEY-30.
    @Test(.enabled(if: LoopbackServer.httpd != nil))
    func `httpd with WebDAV takes compressed uploads, and none over a change of somebody else's`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.httpd(
            in: directory, modules: ["dav", "dav_fs", "filter", "deflate"],
            "DavLockDB \(directory.file("root/.locks/db"))\n<Location />\nDav On\nSetInputFilter DEFLATE\n</Location>")
        for folder in ["root", "root/.locks"] { try directory.makeDirectory(folder, mode: 0o777) }
        let session = Session()
        var request = Request(
            url: try URLRecord("http://127.0.0.1:\(server.port)/file.txt"), method: .put, body: .bytes(Self.text))
        request.bodyCoding = .gzip
        request.setPrecondition(.doesNotExist)
        #expect(try await session.data(for: request).1.status.code == 201)
        #expect(try await session.data(for: request).1.status.code == 412)
        // httpd vouches for no state of a file that is younger than a minute.
        let old = timeval(tv_sec: time(nil) - 3600, tv_usec: 0)
        #expect(utimes(directory.file("root/file.txt"), [old, old]) == 0)
        let (body, seen) = try await session.data(for: Request(url: request.url))
        // The difference of two large arrays would take long to say.
        #expect(body.count == Self.text.count && body.elementsEqual(Self.text))
        request.body = .bytes(Array("shorter".utf8))
        request.setPrecondition(.matches(entityTag: "\"another\""))
        #expect(try await session.data(for: request).1.status.code == 412)
        request.setPrecondition(Precondition(unchangedSince: seen))
        #expect(try await session.data(for: request).1.status.code == 204)
        #expect(try await session.data(for: Request(url: request.url)).0 == Array("shorter".utf8))
    }
}
