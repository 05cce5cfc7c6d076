import HTTPTypes
import Testing

@testable import FetchAPI

struct FieldValuesTests {
    @Test(arguments: [
        [],
        [("accept", "text/html")],
        [("Content-Type", "application/json")],
        [("x", "1"), ("CONTENT-TYPE", "a"), ("y", "2")],
        [("content-type", "a"), ("y", "2"), ("Content-Type", ""), ("content-type", "c")],
    ])
    func `a value is that of the field, or of all of its name in one`(_ fields: [(String, String)]) throws {
        var headers = HTTPFields()
        for (name, value) in fields {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let values = fields.filter { $0.0.lowercased() == "content-type" }.map(\.1)
        #expect(headers.value(of: .contentType) == (values.isEmpty ? nil : values.joined(separator: ", ")))
    }

    @Test func `cookies are joined as cookies are`() {
        var headers = HTTPFields()
        headers.append(HTTPField(name: .cookie, value: "a=1"))
        headers.append(HTTPField(name: .cookie, value: "b=2"))
        #expect(headers.value(of: .cookie) == "a=1; b=2")
    }
}
