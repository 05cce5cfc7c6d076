import CCurl
import TestSupport
import Testing

@testable import FetchEngine

/// How libcurl's URL API reads a text.
private struct CurlReading: Equatable {
    let scheme: String?
    let host: String?
    let port: String?

    init?(_ text: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK else { return nil }
        scheme = Self.part(CURLUPART_SCHEME, of: handle)
        host = Self.part(CURLUPART_HOST, of: handle)
        port = Self.part(CURLUPART_PORT, of: handle)
    }

    /// Our own reading.
    init(_ url: URLRecord) {
        scheme = url.scheme
        host = url.host
        port = url.effectivePort.map { "\($0)" }
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, CUnsignedInt(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
            return nil
        }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

// One parse; the URL for libcurl is rebuilt from it.
@Suite struct CurlAgreementTests {
    private static func sent(_ url: URLRecord) -> URLRecord { url.withoutCredentials().withoutFragment() }

    // Proves: SEC-1.
    @Test(arguments: try URLVectorTests.vectors())
    func `libcurl reads an allowed target as the guard does`(vector: URLVector) throws {
        guard let url = try? TargetGuard(policy: .publicOnly).target(vector.input) else { return }
        #expect(CurlReading(Self.sent(url).description) == CurlReading(url))
    }

    // Proves: SEC-1.
    @Test(arguments: URLMutationTests.texts)
    func `libcurl reads a mutated target as the guard does`(text: String) {
        var generator = SeededGenerator(state: 13)
        let judge = TargetGuard(policy: .publicOnly)
        for _ in 0..<5000 {
            guard let url = try? judge.target(URLMutationTests.mutated(text, with: &generator)) else { continue }
            #expect(CurlReading(Self.sent(url).description) == CurlReading(url))
        }
    }

    // What no URL does as far as we know: here the text is not that of the origin.
    // Proves: SEC-1.
    @Test(arguments: [
        "http://b.example/", "https://a.example/", "http://a.example:81/", "http://a.example:0/", "http://a b/", "",
    ])
    func `a text that libcurl reads otherwise is not loaded`(text: String) async throws {
        let settings = SharedConfiguration(SessionConfiguration()).connections
        let origin = try URLRecord("http://a.example/").origin
        let error = await TransferLoop().run { loop -> LoadError? in
            let key = Partition.Key(session: 1, settings: settings, terms: ConnectionTerms(), credential: nil)
            let partition = loop.partition(for: key)
            do throws(LoadError) {
                try partition.confirm(text, of: origin)
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.code.name == "urlInvalid", "\(String(describing: error))")
    }
}
