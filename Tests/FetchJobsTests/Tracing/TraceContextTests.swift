import FetchJobs
import HTTPTypes
import Testing

/// `traceparent` and `tracestate` as the recommendation has them; many of the values are those of its test suite.
@Suite struct TraceContextTests {
    private static let parent = "00-12345678901234567890123456789012-1234567890123456-01"

    private func fields(_ parents: [String], _ states: [String] = []) -> HTTPFields {
        var fields = HTTPFields()
        fields[values: .traceparent] = parents
        fields[values: .tracestate] = states
        return fields
    }

    @Test(arguments: [
        (parent, parent), ("00-12345678901234567890123456789012-1234567890123456-00", nil),
        // Flags that have no meaning yet are not passed on.
        ("00-12345678901234567890123456789012-1234567890123456-ff", parent),
        (
            "00-12345678901234567890123456789012-1234567890123456-02",
            "00-12345678901234567890123456789012-1234567890123456-00"
        ),
        // A later version, with and without more behind its known parts.
        ("cc-12345678901234567890123456789012-1234567890123456-01", parent),
        ("cc-12345678901234567890123456789012-1234567890123456-01-what-the-future-will-be-like", parent),
        ("00-00000000000000000000000000000001-0000000000000001-01", nil),
    ])
    func `a parent that is well formed is taken`(_ text: String, _ sent: String?) throws {
        let context = try #require(TraceContext(fields([text])))
        #expect(context.parent == sent ?? text)
        var written = HTTPFields()
        context.write(to: &written)
        #expect(written.map(\.name.rawName) == ["traceparent"] && TraceContext(written) == context)
    }

    @Test(arguments: [
        "", "00", "00-12345678901234567890123456789012", "00-12345678901234567890123456789012-1234567890123456",
        "00-12345678901234567890123456789012-1234567890123456-0",
        "00-12345678901234567890123456789012-1234567890123456-01-",
        "00-12345678901234567890123456789012-1234567890123456-01.what",
        "00-12345678901234567890123456789012-1234567890123456-0x",
        "cc-12345678901234567890123456789012-1234567890123456-01.what",
        "ff-12345678901234567890123456789012-1234567890123456-01",
        ".0-12345678901234567890123456789012-1234567890123456-01",
        "0G-12345678901234567890123456789012-1234567890123456-01",
        "00-00000000000000000000000000000000-1234567890123456-01",
        "00-12345678901234567890123456789012-0000000000000000-01",
        "00-1234567890123456789012345678901.-1234567890123456-01",
        "00-12345678901234567890123456789012-123456789012345A-01",
        "00-1234567890ABCDEF9012345678901234-1234567890123456-01",
        "00-123456789012345678901234567890123-1234567890123456-01",
        "00.12345678901234567890123456789012-1234567890123456-01",
        " 00-12345678901234567890123456789012-1234567890123456-01x",
    ])
    func `a parent that is malformed counts as none, whatever the state`(_ text: String) {
        #expect(TraceContext(fields([text], ["foo=1"])) == nil)
    }

    @Test func `two parents count as none, even when they are the same`() {
        #expect(TraceContext(fields([Self.parent, Self.parent])) == nil)
        #expect(TraceContext(HTTPFields()) == nil)
    }

    @Test(arguments: [
        (["foo=1"], "foo=1"), (["foo=1,bar=2"], "foo=1,bar=2"), (["foo=1", "bar=2"], "foo=1,bar=2"),
        (["foo=1 \t , \t bar=2, \t baz=3"], "foo=1,bar=2,baz=3"), (["foo=1,,bar=2,"], "foo=1,bar=2"),
        (["foo=1", "", "bar=2"], "foo=1,bar=2"), (["foo=1,foo=2,bar=3"], "foo=1,bar=3"),
        (["foo@bar=1", "0a@b=2"], "foo@bar=1,0a@b=2"), (["a-b_c*d/e=x y"], "a-b_c*d/e=x y"),
        ([String(repeating: "z", count: 256) + "=1"], String(repeating: "z", count: 256) + "=1"),
    ])
    func `a state that is well formed is passed on as it came`(_ states: [String], _ sent: String) throws {
        let context = try #require(TraceContext(fields([Self.parent], states)))
        #expect(context.state?.text == sent)
        var written = HTTPFields()
        context.write(to: &written)
        #expect(written[.tracestate] == sent)
    }

    @Test(arguments: [
        "foo", "foo=", "=1", "foo =1", "FOO=1", "foo.bar=1", "foo@=1,bar=2", "@foo=1,bar=2", "foo@@bar=1,bar=2",
        "foo@bar@baz=1", "0foo=1", "foo=1=2", "foo=1\u{7F}", "foo=ä",
        String(repeating: "z", count: 257) + "=1", String(repeating: "t", count: 242) + "@v=1",
        "t@" + String(repeating: "v", count: 15) + "=1", "foo=" + String(repeating: "1", count: 257),
        (0..<33).map { "bar\($0)=1" }.joined(separator: ","), "", " ", ",",
    ])
    func `a state that is malformed or empty is dropped, and its parent stays`(_ state: String) throws {
        let context = try #require(TraceContext(parent: Self.parent, states: [state]))
        #expect(context.state == nil && context.parent == Self.parent)
    }

    @Test func `of a state that is too long, long members are left out first, then the last`() throws {
        let long = "long=" + String(repeating: "x", count: 130)
        let short = (0..<20).map { "k\($0)=" + String(repeating: "y", count: 20) }
        let context = TraceContext(parent: Self.parent, states: [([long] + short).joined(separator: ",")])
        let text = try #require(context?.state?.text)
        #expect(text.utf8.count <= TraceState.maximumBytes)
        #expect(text == short.joined(separator: ","))
        let many = (0..<32).map { "k\($0)=" + String(repeating: "y", count: 100) }
        let cut = try #require(TraceContext(parent: Self.parent, states: many)?.state?.text)
        #expect(cut == many.prefix(4).joined(separator: ","))
    }

    @Test func `a job keeps the trace that it came with, and no client says another`() throws {
        let plain = #"{"request": {"url": "https://a.example/"}}"#
        var spec = try JobSpec(json: JSONParser.parse(plain.utf8))
        let without = spec.json
        spec.trace = TraceContext(parent: Self.parent, states: ["foo=1"])
        let stored = try JobSpec(stored: JSONParser.parse(spec.json))
        #expect(stored == spec && stored.trace?.state?.text == "foo=1")
        #expect(spec.json.count < without.count + 160)
        let said = #"{"request": {"url": "https://a.example/"}, "trace": {"traceparent": "\#(Self.parent)"}}"#
        #expect(throws: InvalidInput.self) { try JobSpec(json: JSONParser.parse(said.utf8)) }
        // What is stored otherwise is no reason to lose the job.
        let other = #"{"request": {"url": "https://a.example/"}, "trace": {"traceparent": "x"}}"#
        #expect(try JobSpec(stored: JSONParser.parse(other.utf8)).trace == nil)
    }

    @Test func `spans of a job and of its attempts differ, and are the same on every node`() {
        let (job, other) = (Job.ID(), Job.ID())
        let spans = [
            SpanID(of: job), SpanID(of: job, life: 1), SpanID(of: job, attempt: 0), SpanID(of: job, attempt: 1),
            SpanID(of: other), SpanID(of: other, attempt: 1),
        ]
        #expect(Set(spans).count == spans.count)
        #expect(SpanID(of: job, attempt: 1) == spans[3])
        #expect(spans.allSatisfy { $0.description.count == 16 })
    }
}
