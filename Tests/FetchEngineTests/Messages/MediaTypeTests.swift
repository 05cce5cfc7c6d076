import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct MediaTypeTests {
    /// A field value, and the type it is, written in the standard form; nil for no type at all.
    static let cases: [(String, String?)] = [
        ("text/html", "text/html"),
        (" TEXT/HTML ", "text/html"),
        ("text/html ; charset = utf-8", "text/html"),
        ("text/html;charset=UTF-8", "text/html;charset=UTF-8"),
        ("text/html;CHARSET=\"utf-8\"", "text/html;charset=utf-8"),
        ("text/html;charset=\"a\\\"b\"", "text/html;charset=\"a\\\"b\""),
        ("text/html;charset=\"a", "text/html;charset=a"),
        ("text/html;charset=\"a\\", "text/html;charset=\"a\\\\\""),
        ("text/html;a=\"\\\"\u{301}\"", "text/html;a=\"\\\"\u{301}\""),
        ("text/html;a=1;a=2;b=3", "text/html;a=1;b=3"),
        ("text/html;;;a=1; ;b=2;", "text/html;a=1;b=2"),
        ("text/html;a=;b=\"\"", "text/html;b=\"\""),
        ("text/html;a b=c;d=e f", "text/html;d=\"e f\""),
        ("text/html;a=\"x\"y;b=z", "text/html;a=x;b=z"),
        ("multipart/form-data; boundary=\"a;b\"; x=y", "multipart/form-data;boundary=\"a;b\";x=y"),
        ("text", nil), ("text/", nil), ("/html", nil), ("", nil), ("te xt/html", nil), ("text/ht ml", nil),
        ("text/html/x", nil), ("tèxt/html", nil), (";charset=utf-8", nil),
    ]

    // Proves: RSP-2.
    @Test(arguments: cases)
    func `a media type is read as browsers do`(_ text: String, _ expected: String?) {
        #expect(MediaType(text)?.description == expected)
    }

    // Proves: RSP-2.
    @Test func `a response tells type, charset and length`() throws {
        let response = Response(
            url: try URLRecord("http://h/"), status: .ok, headerFields: [.contentType: "Text/HTML; Charset=\"latin1\""],
            expectedContentLength: 3)
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "latin1")
        #expect(response.expectedContentLength == 3)
        let silent = Response(url: try URLRecord("http://h/"), status: .ok)
        #expect(silent.mimeType == nil)
        #expect(silent.textEncodingName == nil)
        #expect(silent.expectedContentLength == nil)
    }
}
