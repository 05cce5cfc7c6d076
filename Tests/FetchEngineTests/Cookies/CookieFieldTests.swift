import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct CookieFieldTests {
    private static let url = "https://www.example.org/"

    private func cookies(_ lines: String...) throws -> [Cookie] {
        try lines.map { try Cookie(setCookie: Array($0.utf8), from: try URLRecord(Self.url)) }
    }

    // Proves: COK-2, FN-40, FN-41.
    @Test func `each field of an answer is one cookie, whatever the case of its name`() throws {
        var fields = HTTPFields()
        for (name, value) in [("set-cookie", "a=1, b=2"), ("SET-COOKIE", "c=3"), ("Set-Cookie", "Secure")] {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let cookies = Cookie.cookies(withResponseHeaderFields: fields, for: try URLRecord(Self.url))
        #expect(cookies.map(\.name) == ["a", "c", ""])
        #expect(cookies.map(\.value) == ["1, b=2", "3", "Secure"])
    }

    // Proves: COK-4, SEC-33.
    @Test func `verdicts name what was refused and why, and fifty are taken`() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .setCookie, value: "bad=1; Domain=org"))
        for number in 0..<60 { fields.append(HTTPField(name: .setCookie, value: "c\(number)=1")) }
        let verdicts = Cookie.verdicts(
            onResponseHeaderFields: fields, from: CookieContext(url: try URLRecord(Self.url)))
        #expect(verdicts.count == 61)
        #expect(verdicts.first == .rejected(name: "bad", .publicSuffix))
        #expect(verdicts[1...50].allSatisfy { $0.rejection == nil })
        #expect(verdicts[51...].allSatisfy { $0.rejection == .tooMany })
        #expect(verdicts.last?.name == "c59")
    }

    // Proves: COK-2.
    @Test func `cookies become one field in the order given`() throws {
        let fields = Cookie.requestHeaderFields(with: try cookies("b=2", "a=1; Path=/x", "bare", "e="))
        #expect(fields[values: .cookie] == ["b=2; a=1; bare; e="])
        #expect(Cookie.requestHeaderFields(with: []).isEmpty)
    }

    // Proves: SEC-33.
    @Test func `the field has at most 8192 bytes`() throws {
        let value = String(repeating: "x", count: 4000)
        let fields = Cookie.requestHeaderFields(with: try cookies("a=\(value)", "b=\(value)", "c=\(value)", "d=1"))
        #expect(fields[.cookie] == "a=\(value); b=\(value)")
    }

    // Proves: COK-12.
    @Test(arguments: [
        (["a=caller"], "a=caller; b=2; bare"), (["x=1; a=caller;  b = 3 "], "x=1; a=caller;  b = 3; bare"),
        (["x=1", "y=2"], "x=1; y=2; a=1; b=2; bare"), (["mine"], "mine; a=1; b=2"), ([""], "a=1; b=2; bare"),
        ([], "a=1; b=2; bare"), (["x=1;"], "x=1;; a=1; b=2; bare"),
    ])
    func `the caller's pairs come first and win by name`(_ values: [String], _ expected: String) throws {
        var field = CookieField(values.map { HTTPField(name: .cookie, value: $0) })
        field.append(try cookies("a=1", "b=2", "bare"))
        #expect(String(decoding: field.value, as: UTF8.self) == expected)
    }
}
