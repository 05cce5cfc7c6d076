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
    @Test func `a header field with a control character is refused`() async throws {
        var request = Request(url: try URLRecord("http://127.0.0.1:9/"))
        let name = try #require(HTTPField.Name("X-Odd"))
        request.headerFields.append(HTTPField(name: name, lenientValue: [0x61, 0x01, 0x62]))
        await expect(.headerInvalid) { try await Session().data(for: request) }
    }
}
