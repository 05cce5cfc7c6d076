import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// data: and file: URLs through a session.
@Suite struct BuiltInLoadTests {
    // Proves: NET-4.
    @Test func `a data URL is loaded in every session`() async throws {
        for configuration in [SessionConfiguration.default, .ephemeral] {
            let request = Request(url: try URLRecord("data:text/html;charset=utf-8,%3Cp%3E"))
            let (body, response) = try await Session(configuration: configuration).data(for: request)
            #expect(String(decoding: body, as: UTF8.self) == "<p>")
            #expect(response.status == .ok)
            #expect(response.mimeType == "text/html")
            #expect(response.textEncodingName == "utf-8")
            #expect(response.expectedContentLength == 3)
            #expect(response.httpVersion == "data")
        }
    }

    // Proves: NET-4, FN-9.
    @Test(arguments: ["data:nothing", "data:;base64,a"])
    func `a malformed data URL fails at once, in every way of loading`(_ text: String) async throws {
        let request = Request(url: try URLRecord(text))
        await expect(.badURL) { try await Session().data(for: request) }
        let result = await withCheckedContinuation { continuation in
            Session().dataTask(with: request) { continuation.resume(returning: $0) }.resume()
        }
        #expect(throws: LoadError.self) { try result.get() }
    }

    // Proves: NET-3, FN-19.
    @Test func `a file is loaded below a root and nowhere else`() async throws {
        let file = try TemporaryFile(pattern(1_000_000))
        let request = Request(url: try URLRecord("file://" + file.path))
        await expect(.unsupportedURL) { try await Session().data(for: request) }
        var configuration = SessionConfiguration()
        configuration.fileRoots = ["/var/empty", "/tmp"]
        let session = Session(configuration: configuration)
        let (body, response) = try await session.data(for: request)
        #expect(body == pattern(1_000_000))
        #expect(response.httpVersion == "file")
        #expect(response.expectedContentLength == 1_000_000)
        for (path, code) in [
            ("/etc/hostname", LoadError.Code.noPermissionsToReadFile), ("/tmp/no-such-file", .fileDoesNotExist),
            ("/tmp", .fileIsDirectory), ("/tmp/../etc/hostname", .noPermissionsToReadFile),
        ] {
            await expect(code) { try await session.data(for: Request(url: try URLRecord("file://" + path))) }
        }
    }
}
