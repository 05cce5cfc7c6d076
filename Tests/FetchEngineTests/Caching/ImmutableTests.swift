import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct ImmutableTests {
    // RFC 8246 §2, over TLS with nginx.
    // Proves: CCH-8.
    @Test func `what is immutable is not even confirmed, and what is not is`() async throws {
        let authority = try await TestAuthority()
        let fields = { (control: String) in "add_header ETag '\"a\"'; add_header Cache-Control '\(control)'" }
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: [
                "location /fixed { \(fields("max-age=600, immutable")); return 200 fixed; }",
                "location /plain { \(fields("max-age=600")); return 200 plain; }",
            ])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        configuration.urlCache = MemoryResponseCache()
        let session = Session(configuration: configuration)
        var sources: [Response.Source] = []
        for path in ["/fixed", "/fixed", "/plain", "/plain"] {
            var request = Request(url: try URLRecord("https://localhost:\(server.port)\(path)"))
            request.cachePolicy = .reloadRevalidatingCacheData
            let (body, response) = try await session.data(for: request)
            #expect(String(decoding: body, as: UTF8.self) == path.dropFirst())
            sources.append(response.source)
        }
        #expect(sources.prefix(3) == [.network, .cache, .network] && sources[3] != .cache)
    }
}
