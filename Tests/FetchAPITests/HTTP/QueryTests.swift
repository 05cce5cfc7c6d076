import Testing

@testable import FetchAPI

@Suite struct QueryTests {
    @Test(arguments: [
        ("a=1&b=%C3%A9+%2B~", ["a": "1", "b": "é +~"]), ("a&b=", ["a": "", "b": ""]), ("a==b", ["a": "=b"]),
        ("", [:]), ("&&a=1&", ["a": "1"]), ("%61=%25", ["a": "%"]),
    ])
    func `a query is read as forms are written`(text: String, items: [String: String]) throws {
        let query = try Query(text)
        #expect(query.names.count == items.count)
        for (name, value) in items { #expect(query[name] == value) }
    }

    @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%+1", "%FF=1", "a=%C3", "a=%00"])
    func `what is no percent-encoded UTF-8, or holds a NUL, is refused`(text: String) {
        #expect(throws: Problem.self) { try Query(text) }
    }

    @Test func `a name or a value has no more marks in a row than a text has`() throws {
        let mark = "%CC%95"
        _ = try Query("a=\(String(repeating: mark, count: 30))")
        for text in ["a=\(String(repeating: mark, count: 31))", "\(String(repeating: mark, count: 31))=a"] {
            #expect(throws: Problem.self) { try Query(text) }
        }
    }

    @Test func `what is written is read again`() throws {
        let value = String(String.UnicodeScalarView((1...0x250).compactMap { Unicode.Scalar($0 as UInt32) })) + "😀"
        let text = Query.text([("a", value), ("b", nil), ("c", "-._~ &=+%")])
        #expect(text.utf8.allSatisfy { (0x21...0x7E).contains($0) })
        #expect(text.hasSuffix("&c=-._~%20%26%3D%2B%25"))
        let query = try Query(text)
        #expect(query["a"] == value)
        #expect(query.names == ["a", "c"])
    }
}
