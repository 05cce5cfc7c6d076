import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

/// Responses and transfers as they are stored, and as they are shown again.
@Suite struct StoredResponseTests {
    private static let long = String(repeating: "x", count: 3000)

    private static func response(
        _ url: String, _ status: Int = 200, length: Int64? = nil, version: String = "http/1.1",
        _ fields: (String, String)...
    ) throws -> Response {
        var headerFields = HTTPFields()
        for (name, value) in fields {
            headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return Response(
            url: try URLRecord(url), status: .init(code: status), headerFields: headerFields, httpVersion: version,
            expectedContentLength: length)
    }

    private static func responses() throws -> [Response] {
        [
            try response("http://a.example/dir/name%20of.txt?q=1#f"),
            try response(
                "https://user:secret@a.example/", 404, length: 0, ("content-type", "text/html; charset=utf-8")),
            try response(
                "http://a.example/x", length: 12, ("Content-Type", "image/png"),
                ("Content-Disposition", "attachment; filename=\"b ü.png\""), ("X", ""), ("x", "\"quoted\" \\ \u{7f}é")),
            Response(
                url: try URLRecord("http://a.example/latin"), status: .ok,
                headerFields: HTTPFields([HTTPField(name: .server, lenientValue: [0x63, 0xE9, 0x01, 0xFF])])),
            try response("http://[::1]:8080/\(long)", version: "h2", ("Location", "http://u:p@b.example/?secret")),
            try response("data:text/plain,hello", version: "data", ("Content-Type", "text/plain")),
            try response("ftp://a.example/pub/file.tar.gz", version: "ftp"),
        ]
    }

    @Test(arguments: [URLForm.whole, .withoutQuery])
    func `what is stored of a response is shown as the response is`(urls: URLForm) throws {
        for response in try Self.responses() {
            let shown = JSONWriter.object { response.writeWithoutSecrets(&$0, urls) }
            let stored = StoredResponse(response, urls)
            #expect(stored.named == RawJSON(shown))
            #expect(stored.json.bytes.count < shown.count)
            #expect(stored.suggestedFilename == response.suggestedFilename)
            let type = response.mimeType.map { $0 + (response.textEncodingName.map { "; charset=\($0)" } ?? "") }
            #expect(stored.contentType == type)
        }
    }

    @Test func `trailers are shown behind it`() throws {
        let response = try Self.response("http://a.example/")
        let trailers: HTTPFields = [.init("X-Sum")!: "7"]
        let stored = StoredResponse(response, .whole, trailers: trailers)
        let shown = JSONWriter.object { response.writeWithoutSecrets(&$0, .whole, trailers: trailers) }
        #expect(stored.named == RawJSON(shown))
    }

    @Test func `another form is shown as it is`() {
        let json = RawJSON(Array(#"{"mimeType":"text/plain","textEncodingName":"utf-8","part":2}"#.utf8))
        let stored = StoredResponse(json: json)
        #expect(stored.named == json && stored.contentType == "text/plain; charset=utf-8")
        #expect(stored.suggestedFilename == nil)
    }

    @Test func `a transfer is shown with the names of what there is of it`() {
        let transfers = #"[["http://a.example/",204,"h2",null,null,true,1.25,[0.0,0.5]],[]]"#
        let stored = StoredTransfers(json: RawJSON(Array(transfers.utf8)))
        #expect(
            stored.named(since: Timestamp(microseconds: 1_767_225_600_000_000)).text
                == #"[{"url":"http://a.example/","status":204,"networkProtocolName":"h2","#
                + #""isReusedConnection":true,"fetchStart":"2026-01-01T00:00:01.250Z","request":[0.0,0.5]},{}]"#)
    }
}
