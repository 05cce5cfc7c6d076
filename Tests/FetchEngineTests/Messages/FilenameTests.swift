import Testing

@testable import FetchEngine

@Suite struct FilenameTests {
    // Proves: DLD-4, SEC-47.
    @Test(arguments: [
        ("a.txt", "a.txt"), ("a b.txt", "a b.txt"), ("/etc/passwd", "passwd"), ("a\\b\\c", "c"), ("..", nil),
        ("", nil), ("...", nil), (".bashrc", "bashrc"), ("..a", "a"), ("a.", "a"), (" a ", "a"),
        ("a\u{0}b\nc\u{7F}\u{85}d", "abcd"), ("cod\u{202E}exe.txt", "codexe.txt"), ("\u{2066}x\u{2069}", "x"),
        ("CON", "_CON"), ("con.txt", "_con.txt"), ("lpt1.tar.gz", "_lpt1.tar.gz"), ("CONSOLE", "CONSOLE"),
        ("a/", "a"), ("日本.txt", "日本.txt"), ("\u{200B}", nil), ("the \"plans\".pdf", "the \"plans\".pdf"),
    ])
    func `a name becomes one harmless component`(name: String, safe: String?) {
        #expect(Filename(sanitizing: name)?.text == safe)
    }

    // Proves: DLD-4.
    @Test func `a long name keeps its extension and whole characters`() throws {
        let name = try #require(Filename(sanitizing: String(repeating: "ü", count: 300) + ".jpeg"))
        #expect(name.text.utf8.count <= 200 && name.text.utf8.count > 190)
        #expect(name.text.hasSuffix("ü.jpeg"))
        let dotted = try #require(Filename(sanitizing: "a." + String(repeating: "b", count: 300)))
        #expect(dotted.text.utf8.count == 200)
    }

    // Proves: DLD-2.
    @Test(arguments: [
        ("index.html", "index-1.html"), ("index", "index-1"), ("x.tar.gz", "x-1.tar.gz"), ("a.b.c", "a.b-1.c"),
    ])
    func `a number stands before the extension`(name: String, numbered: String) throws {
        #expect(try #require(Filename(sanitizing: name)).numbered(1).text == numbered)
        let destination = DownloadDestination(path: "/d.d/.\(name)")
        #expect(destination.candidate(1) == "/d.d/.\(numbered)")
        #expect(destination.candidate(0) == "/d.d/.\(name)")
    }

    // Proves: UPL-3.
    @Test(arguments: [
        ("/a/b.JSON", "application/json"), ("x.html", "text/html"), ("/a.b/c", nil), (".html", nil),
        ("a.tar.gz", "application/gzip"), ("a.unheard-of", nil), ("a.bin", "application/octet-stream"),
    ])
    func `the extension tells the media type`(path: String, type: String?) {
        #expect(FileExtension.mediaType(ofPath: path) == type)
    }
}
