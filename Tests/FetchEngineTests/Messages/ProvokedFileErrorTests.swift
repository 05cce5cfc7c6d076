import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Codes of files, formats and sessions that other suites do not provoke by name.
@Suite struct ProvokedFileErrorTests {
    // Proves: ERR-4.
    @Test func `a broken gzip file fails on the way, a short one at its end`() async throws {
        // A member that is empty: header, stored block, checksum and length.
        let empty: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        var whole = GzipDecoder()
        #expect(try whole.decode(empty) + whole.finish() == [])
        await expect(.downloadDecodingFailedMidStream) {
            var decoder = GzipDecoder()
            return try decoder.decode(Array(empty[..<12]) + [1, 2, 3, 4, 0, 0, 0, 0]) + decoder.finish()
        }
        await expect(.downloadDecodingFailedToComplete) {
            var decoder = GzipDecoder()
            return try decoder.decode(Array(empty[..<11])) + decoder.finish()
        }
    }

    // Proves: ERR-4.
    @Test func `resume data that is none cannot be decoded`() async {
        await expect(.cannotDecodeRawData) { try ResumeData(bytes: [1, 2, 3]) }
    }

    // Proves: ERR-4.
    @Test func `a destination whose folder is missing, or that is a folder, has its code`() async throws {
        let request = Request(url: try URLRecord("data:,hello"))
        for (path, code) in [
            ("/tmp/no-such-folder/file", LoadError.Code.cannotCreateFile), ("/tmp", .fileIsDirectory),
        ] {
            let options = DownloadOptions(destination: DownloadDestination(path: path))
            await expect(code) { try await Session().download(for: request, options: options) }
        }
    }

    // Proves: BKG-2.
    @Test func `a name of a background session that is taken has its code`() async throws {
        struct Silent: SessionDelegate {}
        let first = try Session(background: "provoked", delegate: Silent())
        await expect(.backgroundSessionInUseByAnotherProcess) {
            try Session(background: "provoked", delegate: Silent())
        }
        first.invalidateAndCancel()
    }

    // Proves: URL-3.
    @Test(arguments: [0x01, 0x08, 0x0B, 0x1F, 0x7F] as [UInt8])
    func `a header field with a control character is refused`(_ byte: UInt8) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let name = try #require(HTTPField.Name("X-Odd"))
        for value in [[0x61, byte, 0x62], [byte], [0x61, byte], [byte, 0x61]] {
            var request = Request(url: try URLRecord(origin.url()))
            request.headerFields.append(HTTPField(name: name, lenientValue: value))
            await expect(.headerInvalid) { try await Session().data(for: request) }
        }
        #expect(origin.connections.isEmpty)
    }

    // A value cannot have them: each becomes a space before the engine sees it.
    @Test(arguments: [0x0D, 0x0A, 0x00] as [UInt8])
    func `a character that would end a header field does not reach the wire`(_ byte: UInt8) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let name = try #require(HTTPField.Name("X-Odd"))
        var request = Request(url: try URLRecord(origin.url()))
        request.headerFields.append(HTTPField(name: name, lenientValue: [0x61, byte] + Array("X-New: b".utf8)))
        _ = try await Session().data(for: request)
        #expect(origin.received().contains("X-Odd: a X-New: b\r\n"))
    }
}
