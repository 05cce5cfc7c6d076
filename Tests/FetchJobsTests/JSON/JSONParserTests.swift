import FetchJobs
import Testing

@Suite struct JSONParserTests {
    @Test(arguments: [
        ("null", JSONValue.null),
        (" true ", .bool(true)),
        ("\"a\\u00e9\\n\\ud83d\\ude00\"", .string("aé\n😀")),
        ("[1, \"x\"]", .array([.number(JSONNumber(Int64(1))), .string("x")])),
        ("{\"b\": {}, \"a\": []}", .object([JSONMember("b", .object([])), JSONMember("a", .array([]))])),
    ])
    func `a text becomes its value, members in the order written`(text: String, value: JSONValue) throws {
        #expect(try JSONParser.parse(text.utf8) == value)
    }

    @Test(arguments: [
        ("", "the text ends where a value is expected"),
        ("{\"a\":1,\"a\":2}", "the member \"a\" is there twice"),
        ("\"\\u0000\"", "a NUL character in a string"),
        ("\"\\ud800\"", "an unpaired surrogate in a string"),
        ("\"\\ud800\\u0041\"", "an unpaired surrogate in a string"),
        ("\"a\nb\"", "a control character in a string"),
        ("[1,]", "a value is expected"),
        ("01", "text after the end of the value"),
        ("1.", "a digit is expected"),
        ("nul", "a value is expected"),
        ("{\"a\" 1}", "a colon is expected"),
        ("\"abc", "the text ends inside a string"),
        ("\"\\x\"", "an unknown escape in a string"),
        (
            "{\"\(String(repeating: "\u{315}", count: 31))\":1}",
            "a member name has more than 30 combining marks in a row"
        ),
    ])
    func `a text that is not strict JSON is refused with the rule`(text: String, rule: String) {
        #expect { try JSONParser.parse(text.utf8) } throws: { ($0 as? JSONParser.Failure)?.message == rule }
    }

    // Proves: SEC-44.
    @Test func `nesting is bounded`() throws {
        let depth = JSONParser.maximumDepth
        let deepest = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        _ = try JSONParser.parse(deepest.utf8)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse("[\(deepest)]".utf8) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22, 0xFF, 0x22]) }
    }

    @Test(arguments: ["3", "3.0", "3e0", "-0.5", "123456789012345678901234567890", "1E+2"])
    func `a number keeps its digits through reading and writing`(text: String) throws {
        var writer = JSONWriter()
        writer.value(try JSONParser.parse(text.utf8))
        #expect(writer.text == text)
    }

    // Texts are looked through eight bytes at a time.
    @Test func `whatever needs an escape gets one, wherever it stands`() throws {
        for escaped in ["\"", "\\", "\u{1}", "\n", "\u{1F}", "\u{7F}", "\u{80}", " ", "!"] {
            for length in 0..<20 {
                for place in 0...length {
                    let text =
                        String(repeating: "x", count: place) + escaped + String(repeating: "é", count: length - place)
                    let written = JSONWriter.object { $0.member("t", text) }
                    #expect(!written.contains { $0 < 0x20 || $0 == 0x7F })
                    #expect(try JSONParser.parse(written) == .object([JSONMember("t", .string(text))]))
                }
            }
        }
    }

    @Test func `what is written reads back`() throws {
        let text = "quote \" slash \\ tab \t bell \u{7} é"
        let written = JSONWriter.object { writer in
            writer.member("text", text)
            writer.member("absent", nil as String?)
            writer.member("list", array: { writer in [1, 2].forEach { writer.value($0) } })
        }
        let members = [
            JSONMember("text", .string(text)),
            JSONMember("list", .array([.number(JSONNumber(Int64(1))), .number(JSONNumber(Int64(2)))])),
        ]
        #expect(try JSONParser.parse(written) == .object(members))
    }
}
