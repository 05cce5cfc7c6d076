import FetchJobs
import Testing

@Suite struct GlobTests {
    @Test(arguments: [
        ("", "", true), ("", "a", false), ("*", "", true), ("*", "anything", true), ("a*", "abc", true),
        ("a*", "ba", false), ("*c", "abc", true), ("*c", "cd", false), ("a*c", "ac", true), ("a*c", "a", false),
        ("a*a", "a", false), ("a*b*c", "a-b-c", true), ("a*b*c", "acb", false), ("*ab*ab*", "abab", true),
        ("*ab*ab*", "aab", false), ("**", "x", true), ("*.pdf", "report.pdf", true), ("*.pdf", "report.PDF", false),
        ("MISS*", "MISS from proxy", true), ("é*", "été", true), ("*aab*", "aaab", true),
    ])
    func `a star stands for any characters`(pattern: String, text: String, fits: Bool) {
        #expect(Glob(pattern).matches(text) == fits)
    }

    @Test func `a text that nearly fits everywhere takes no longer than its length`() {
        let piece = String(repeating: "a", count: 120) + "b"
        let glob = Glob("*\(piece)*\(piece)*")
        let text = String(repeating: "a", count: 4_000_000)
        let time = ContinuousClock().measure { #expect(!glob.matches(text)) }
        // 121 comparisons for each byte would take minutes in a debug build.
        #expect(time < .seconds(30))
    }
}
