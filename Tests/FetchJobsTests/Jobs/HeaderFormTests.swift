import FetchEngine
import HTTPTypes
import Testing

@testable import FetchJobs

/// Header fields as a list and as an object.
@Suite struct HeaderFormTests {
    private func fields(_ headers: String) throws -> HTTPFields {
        let text = #"{"request": {"url": "https://a.example/", "headers": \#(headers)}}"#
        return try JobSpec(json: try JSONParser.parse(text.utf8)).request.headers
    }

    private func violations(_ headers: String) -> [Violation] {
        do {
            _ = try fields(headers)
            return []
        } catch {
            return (error as? InvalidInput)?.violations ?? []
        }
    }

    @Test func `an object has the fields that the list of its members has`() throws {
        let object = try fields(
            #"{"Accept": "text/html", "X-A": ["1", "2"], "authorization": "Bearer x", "X-None": []}"#)
        let list = try fields(
            #"""
            [{"name": "Accept", "value": "text/html"}, {"name": "X-A", "value": "1"}, {"name": "X-A", "value": "2"},
             {"name": "authorization", "value": "Bearer x"}]
            """#)
        #expect(object.map(\.name.rawName) == ["Accept", "X-A", "X-A", "authorization"])
        #expect(object == list)
        // What carries credentials is a secret in either form.
        #expect(object.map(\.isSensitive) == [false, false, false, true])
        let spec = try JobSpec(
            json: try JSONParser.parse(
                #"{"request": {"url": "https://a.example/", "headers": {"Cookie": "a=b"}}}"#.utf8))
        #expect(!String(decoding: spec.json, as: UTF8.self).contains("a=b"))
    }

    @Test(arguments: [
        (#"{"Host": "x"}"#, "/request/headers/Host", "belongs to the engine"),
        (#"{"a b": "x"}"#, "/request/headers/a b", "must be a token"),
        (#"{"X": "a\nb"}"#, "/request/headers/X", "must not hold control characters"),
        (#"{"X": ["ok", 1]}"#, "/request/headers/X/1", "must be a string"),
        (#"{"X": null}"#, "/request/headers/X", "must be a string"),
        (#"{"X": {"value": "a"}}"#, "/request/headers/X", "must be a string"),
        (#""X: a""#, "/request/headers", "must be an array"),
    ])
    func `what is wrong in an object has its place`(headers: String, pointer: String, rule: String) {
        let violation = violations(headers).first
        #expect(
            violation?.pointer == pointer && violation?.message.hasPrefix(rule) == true,
            "\(String(describing: violation))")
    }

    @Test func `an object has no more fields than a list`() {
        let names = (0...100).map { #""X-\#($0)": "a""# }.joined(separator: ",")
        #expect(
            violations("{\(names)}").contains {
                $0.pointer == "/request/headers" && $0.message.contains("more than 100")
            })
        let values = Array(repeating: #""a""#, count: 60).joined(separator: ",")
        #expect(
            violations(#"{"A": [\#(values)], "B": [\#(values)]}"#).contains { $0.message.contains("more than 100") })
    }

    // A job from SQL is looked through for secrets as a list.
    @Test func `a stored job has a list`() throws {
        let text = #"{"request": {"url": "https://a.example/", "headers": {"Cookie": "a=b"}}}"#
        #expect(throws: InvalidInput.self) { try JobSpec(stored: try JSONParser.parse(text.utf8)) }
    }
}
