import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

/// The reply of a registered protocol before the bytes of a body.
@Suite struct ProtocolReplyTests {
    private let request: Request

    init() throws { request = Request(url: try URLRecord("archive://shelf:7/a/b?q")) }

    private func envelope(_ text: String) throws -> ProtocolReply {
        try ProtocolReply(envelope: JSONParser.parse(text.utf8), to: request, followedBy: 5)
    }

    private func own(_ status: Int, _ fields: HTTPFields = [:], hasCached: Bool = false) throws -> ProtocolReply {
        let response = Response(
            url: try URLRecord("https://secret.example/load"), status: .init(code: status), headerFields: fields,
            expectedContentLength: 5)
        return try ProtocolReply(response, to: request, hasCached: hasCached)
    }

    // MARK: By the fields of HTTP

    @Test func `a response of its own is that of the URL, without what framed it`() throws {
        guard
            case .response(let response, let policy) = try own(
                404, [.contentType: "text/plain", .transferEncoding: "chunked", .connection: "close"])
        else { throw Missing() }
        #expect(response.url == request.url && response.status.code == 404 && response.httpVersion == "archive")
        #expect(response.headerFields == [.contentType: "text/plain"] && response.expectedContentLength == 5)
        #expect(policy == .notAllowed)
    }

    @Test(arguments: [("max-age=60", true), ("private", true), ("No-Store, max-age=60", false), ("", false)])
    func `what Cache-Control lets is kept`(_ value: String, _ isKept: Bool) throws {
        guard case .response(_, let policy) = try own(200, value.isEmpty ? [:] : [.cacheControl: value]) else {
            throw Missing()
        }
        #expect((policy == .allowed) == isKept)
    }

    @Test func `a redirect leads from the URL of the load`() throws {
        guard case .redirect(let response, let url) = try own(303, [.location: "../c"]) else { throw Missing() }
        #expect(response.status.code == 303 && "\(url)" == "archive://shelf:7/c")
        guard case .response = try own(300, [.location: "../c"]) else { throw Missing() }
        guard case .response = try own(302) else { throw Missing() }
        for (location, code) in [
            ("http://a b/", LoadError.Code.redirectToNonExistentLocation),
            ("http://u:p@a.example/", .redirectTargetForbidden),
        ] {
            let error = #expect(throws: LoadError.self) { try own(302, [.location: location]) }
            #expect(error?.code == code)
        }
    }

    @Test func `304 confirms what is cached, and is a response where nothing is`() throws {
        guard case .cachedResponseIsValid = try own(304, hasCached: true) else { throw Missing() }
        guard case .response(let response, _) = try own(304) else { throw Missing() }
        #expect(response.status.code == 304)
    }

    // MARK: By an envelope

    @Test func `an envelope has a response with properties and where it may be kept`() throws {
        let text = #"""
            {"response": {"status": 207, "headers": [{"name": "ETag", "value": "\"a\""}], "properties": {"n": [1]}},
             "storagePolicy": "allowedInMemoryOnly"}
            """#
        guard case .response(let response, let policy) = try envelope(text) else { throw Missing() }
        #expect(response.status.code == 207 && response.headerFields[.eTag] == #""a""#)
        #expect(response[.byProtocol] == .object([JSONMember("n", .array([.number(JSONNumber(Int64(1)))]))]))
        #expect(response.expectedContentLength == 5 && policy == .allowedInMemoryOnly)
        guard case .response(let plain, .notAllowed) = try envelope(#"{"response": {}}"#) else { throw Missing() }
        #expect(plain.status == .ok)
    }

    @Test func `an envelope redirects, confirms, fails or asks who is there`() throws {
        guard case .redirect(let response, let url) = try envelope(#"{"redirect": {"url": "https://b.example/"}}"#)
        else { throw Missing() }
        #expect(response.status.code == 302 && "\(url)" == "https://b.example/")
        guard case .cachedResponseIsValid = try envelope(#"{"cachedResponseIsValid": true}"#) else { throw Missing() }
        guard
            case .failure(let error) = try envelope(#"{"error": {"name": "fileDoesNotExist", "message": "No."}}"#)
        else { throw Missing() }
        #expect(error.code == .fileDoesNotExist && error.message == "No.")
        guard case .challenge(let space) = try envelope(#"{"challenge": {"realm": "r"}}"#) else { throw Missing() }
        // The space is that of the URL: no word of the protocol gets it the credential of another.
        #expect(space == ProtectionSpace(host: "shelf", port: 7, scheme: "archive", realm: "r", method: .default))
    }

    @Test(arguments: [
        ("[]", ""), ("{}", ""), (#"{"response": {}, "redirect": {"url": "a"}}"#, ""), (#"{"other": 1}"#, "/other"),
        (#"{"response": {"status": 100}}"#, "/response/status"), (#"{"response": {"body": "x"}}"#, "/response/body"),
        (#"{"response": {"properties": []}}"#, "/response/properties"),
        (#"{"response": {"headers": [{"name": "Content-Length", "value": "1"}]}}"#, "/response/headers/0/name"),
        (#"{"response": {"headers": [{"name": "a b", "value": "1"}]}}"#, "/response/headers/0/name"),
        (#"{"response": {}, "storagePolicy": "always"}"#, "/storagePolicy"),
        (#"{"redirect": {}}"#, "/redirect/url"), (#"{"redirect": {"url": "http://u@a.example/"}}"#, "/redirect/url"),
        (#"{"redirect": {"url": "a", "status": 200}}"#, "/redirect/status"),
        (#"{"redirect": {"url": "a"}, "storagePolicy": "allowed"}"#, "/storagePolicy"),
        (#"{"challenge": {"authenticationMethod": "ntlm"}}"#, "/challenge/authenticationMethod"),
        (#"{"challenge": {"host": "bank.example"}}"#, "/challenge/host"),
        (#"{"cachedResponseIsValid": false}"#, "/cachedResponseIsValid"),
        (#"{"error": {"name": "itBroke"}}"#, "/error/name"), (#"{"error": {}}"#, "/error/name"),
    ])
    func `an envelope that breaks a rule is refused by the name of its member`(_ text: String, _ pointer: String) throws
    {
        let error = #expect(throws: InvalidInput.self) { try envelope(text) }
        #expect(error?.violations.first?.pointer == pointer)
    }

    private struct Missing: Error {}
}
