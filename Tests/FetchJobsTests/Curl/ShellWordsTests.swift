import Testing

@testable import FetchJobs

@Suite struct ShellWordsTests {
    @Test(
        arguments: [
            ("", []),
            ("  a\t b\n", ["a", "b"]),
            (#"'a b' "c d" e\ f"#, ["a b", "c d", "e f"]),
            (#"'' """#, ["", ""]),
            (#"a'b'"c"d"#, ["abcd"]),
            ("a \\\n  b \\\r\n c", ["a", "b", "c"]),
            (#""\$x \"y\" \a \\""#, [#"$x "y" \a \"#]),
            (#"$'a\n\t\'\x41\u00e9\101\\'"#, ["a\n\t'A\u{E9}A\\"]),
            ("a # the rest\nb#c", ["a", "b#c"]),
            ("$ a$ 5$", ["$", "a$", "5$"]),
            ("'$x `y` | &'", ["$x `y` | &"]),
        ] as [(String, [String])])
    func `words are read as a shell reads them`(text: String, words: [String]) throws {
        #expect(try ShellWords.words(of: text) == words)
    }

    @Test(arguments: [
        ("'a", "single quote"), ("\"a", "double quote"), ("$'a", "single quote"), ("a | b", "“|”"), ("a&b", "“&”"),
        ("a > b", "“>”"), ("$HOME", "“$”"), ("\"${x}\"", "“$”"), ("`id`", "“`”"), ("$(id)", "“$”"),
        ("$'\\xzz'", "digits"), ("$'\\uD800'", "character"), ("$'\\x00'", "NUL"), ("$'\\xff'", "UTF-8"),
    ])
    func `what is more than words is refused`(text: String, reason: String) {
        let fault = #expect(throws: ShellWords.Fault.self) { try ShellWords.words(of: text) }
        #expect(fault?.message.contains(reason) == true)
    }
}
