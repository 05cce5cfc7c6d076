import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct StorabilityTests {
    private static func allows(
        _ code: Int = 200, _ answer: [String] = [], method: HTTPRequest.Method = .get, asked: [String] = [],
        in configuration: CachingConfiguration = CachingConfiguration()
    ) throws -> Bool {
        let url = try URLRecord("http://origin.test/")
        let response = Response(
            url: url, status: .init(code: code), headerFields: .init(lines: ["Content-Length: 0"] + answer))
        let request = Request(url: url, method: method, headerFields: .init(lines: asked))
        return Storability.allows(
            response, to: request, directives: CacheDirectives(request.headerFields), configuration: configuration)
    }

    // RFC 9110 §15.1.
    // Proves: CCH-10.
    @Test(arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    func `these statuses are stored without being told`(_ code: Int) throws {
        #expect(try Self.allows(code))
    }

    // Proves: CCH-10.
    @Test(arguments: [302, 303, 307, 400, 403, 500, 503, 201, 299])
    func `others are stored when the answer says for how long`(_ code: Int) throws {
        #expect(try !Self.allows(code))
        #expect(try Self.allows(code, ["Cache-Control: max-age=60"]))
        #expect(try Self.allows(code, ["Expires: \(Dates.inAMinute)"]))
        #expect(try Self.allows(code, ["Cache-Control: public"]))
        #expect(try Self.allows(code, ["Cache-Control: private"]))
        #expect(try !Self.allows(code, ["Cache-Control: private"], in: .shared))
        #expect(try Self.allows(code, ["Cache-Control: s-maxage=60"], in: .shared))
        #expect(try !Self.allows(code, ["Cache-Control: s-maxage=60"]))
    }

    // Parts, confirmations and challenges.
    // Proves: CCH-10.
    @Test(arguments: [101, 206, 304, 401, 407])
    func `these are never stored`(_ code: Int) throws {
        #expect(try !Self.allows(code, ["Cache-Control: public, max-age=60"]))
    }

    // Proves: CCH-10.
    @Test func `with the setting success only 200 to 299 are stored`() throws {
        var configuration = CachingConfiguration()
        configuration.cacheableStatuses = .success
        #expect(try Self.allows(200, in: configuration))
        #expect(try Self.allows(299, ["Cache-Control: max-age=60"], in: configuration))
        for code in [300, 301, 404, 410, 500] {
            #expect(try !Self.allows(code, ["Cache-Control: max-age=60"], in: configuration))
        }
    }

    // `no-store` of either side, must-understand (RFC 9111 §5.2.2.3), private.
    // Proves: CCH-8.
    @Test func `directives forbid`() throws {
        #expect(try !Self.allows(200, ["Cache-Control: max-age=60, No-Store"]))
        #expect(try !Self.allows(200, ["Cache-Control: max-age=60"], asked: ["Cache-Control: no-store"]))
        #expect(try Self.allows(200, ["Cache-Control: no-store, must-understand, max-age=60"]))
        #expect(try !Self.allows(299, ["Cache-Control: must-understand, max-age=60"]))
        #expect(try Self.allows(200, ["Cache-Control: private, max-age=60"]))
        #expect(try !Self.allows(200, ["Cache-Control: private, max-age=60"], in: .shared))
        #expect(try !Self.allows(200, ["Cache-Control: private=\"x\", max-age=60"], in: .shared))
        #expect(try Self.allows(200, ["Cache-Control: no-cache"]))
        #expect(try Self.allows(200, ["Pragma: no-cache"]))
    }

    // RFC 9111 §3.5.
    // Proves: CCH-8.
    @Test func `a shared cache stores what an authenticated user got only when told to`() throws {
        let asked = ["Authorization: Bearer x"]
        #expect(try Self.allows(200, ["Cache-Control: max-age=60"], asked: asked))
        #expect(try !Self.allows(200, ["Cache-Control: max-age=60"], asked: asked, in: .shared))
        for directive in ["public", "s-maxage=60", "must-revalidate"] {
            #expect(try Self.allows(200, ["Cache-Control: max-age=60, \(directive)"], asked: asked, in: .shared))
        }
    }

    // Proves: CCH-9.
    @Test(arguments: [HTTPRequest.Method.head, .post, .put, .patch, .delete, .options])
    func `only the answers to GET are stored`(_ method: HTTPRequest.Method) throws {
        #expect(try !Self.allows(200, ["Cache-Control: max-age=60"], method: method))
    }

    // Proves: CCH-6.
    @Test(arguments: ["ftp://h.test/a", "file:///a", "data:,a"])
    func `only http and https are stored`(_ url: String) throws {
        let url = try URLRecord(url)
        let response = Response(url: url, status: .ok, headerFields: .init(lines: ["Cache-Control: max-age=60"]))
        let allows = Storability.allows(
            response, to: Request(url: url), directives: CacheDirectives([:]), configuration: CachingConfiguration())
        #expect(!allows)
    }

    // RFC 9111 §3.1.
    // Proves: CCH-8.
    @Test func `what concerned the connection is not stored`() {
        let fields = HTTPFields(lines: [
            "Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "Transfer-Encoding: chunked", "Upgrade: h2c",
            "Proxy-Authenticate: Basic", "ETag: \"a\"", "Set-Cookie: a=b", "Set-Cookie: c=d",
        ])
        #expect(fields.storable.map { $0.name.canonicalName } == ["etag", "set-cookie", "set-cookie"])
    }
}
