import FetchJobs
import Testing

/// How much memory a job takes that is read.
@Suite struct JobMemoryTests {
    private func bytes(_ body: String) throws -> Int {
        let text = #"{"request": {"url": "http://a.example/", "method": "POST", "body": \#(body)}}"#
        return try JobSpec(json: try JSONParser.parse(text.utf8)).bytesInMemory
    }

    @Test func `a small job takes none that counts, and a large one what is kept and what is sent`() throws {
        #expect(try bytes(#"{"text": "hello"}"#) == 0)
        #expect(try bytes(#"{"text": "\#(String(repeating: "a", count: 100_000))"}"#) == 200_000)
    }

    @Test func `JSON takes many times its text`() throws {
        let digits = Array(repeating: "1", count: 10_000).joined(separator: ",")
        #expect(try bytes(#"{"json": [\#(digits)]}"#) > 25 * digits.utf8.count)
    }
}
