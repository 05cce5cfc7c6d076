import ArgumentParser
import FetchEngine
import Testing

@testable import fetchd

@Suite struct GetCommandTests {
    @Test(arguments: [
        [], ["ftp://example.com/"], ["http://"], ["http://a", "--bogus"], ["http://a", "http://b", "-o", "x"],
        ["http://a", "-C", "5", "-O"], ["http://a", "-C", "-"], ["http://a", "-C", "-", "-o", "-"], ["http://a", "-k"],
        ["http://a", "--retry", "-1"], ["http://a", "--limit-rate", "fast"], ["http://a", "--checksum", "md5:00"],
        ["http://a", "--checksum", "sha256:00"], ["http://a", "-x", "gopher://p"], ["http://a", "-F", "x"],
        ["http://a", "-I", "-d", "x"], ["http://a", "-T", "f", "-F", "a=b"],
        ["http://a", "-o", "x", "-O"], ["http://a", "-L", "--no-follow"], ["http://a", "--json", "-i"],
        ["http://a", "--json", "-o", "-"], ["http://a", "--max-time", "0"], ["http://a", "--max-time", "nan"],
        ["http://a", "--connect-timeout", "-1"], ["http://a", "--max-redirects", "-1"], ["http://a", "-H", "x"],
        ["http://a", "-X", "A B"],
    ])
    func `wrong usage is refused before anything is sent`(arguments: [String]) {
        #expect(throws: (any Error).self) { try GetCommand.parse(arguments) }
    }

    @Test(arguments: [
        ["http://a"], ["-L", "http://a"], ["http://a", "-o", "-"], ["http://a", "-o", "x", "--json"],
        ["http://a", "-iX", "PUT", "-H", "A: b", "-H", "A: c", "-d", "x", "-d", "@-"],
        ["http://a", "--max-time", "0.5"], ["example.com"], ["a.example", "b.example", "-O"], ["http://a", "-sSfL"],
        ["http://a", "-O", "-C", "-", "--retry", "3", "--limit-rate", "500k"], ["http://a", "-I"],
        ["http://a", "-u", "a:b", "-x", "socks5h://p:1080"], ["http://a", "-F", "a=b", "-F", "c=@d"],
        ["http://a", "--checksum", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ])
    func `right usage is taken`(arguments: [String]) throws {
        _ = try GetCommand.parse(arguments)
    }

    @Test func `the help text has every exit code`() {
        let help = GetCommand.helpMessage(columns: 100)
        for code in GetExitCode.allCases { #expect(help.contains("\(code.rawValue)  \(code.meaning)")) }
    }

    @Test(arguments: [
        (LoadError.Code.cannotFindHost, GetExitCode.hostNotFound), (.cannotConnectToHost, .cannotConnect),
        (.timedOut, .timedOut), (.secureConnectionFailed, .tlsHandshake), (.serverCertificateUntrusted, .certificate),
        (.addressForbidden, .refusedTarget), (.redirectDowngrade, .refusedTarget),
        (.httpTooManyRedirects, .tooManyRedirects), (.networkConnectionLost, .connectionLost), (.unknown, .failure),
        (LoadError.Code("hostForbidden", -2000), .refusedTarget),
        (LoadError.Code("portForbidden", -2000), .refusedTarget),
    ])
    func `a load that failed has an exit code of its own`(code: LoadError.Code, expected: GetExitCode) {
        #expect(GetExitCode(code) == expected)
    }

    @Test(arguments: [
        ("page.html", "page.html"), (".profile", "profile"), ("..", "index"), ("", "index"), ("a/b", "a_b"),
        ("../../etc/passwd", "_.._etc_passwd"), ("a\u{0}b\u{1B}[m", "a_b_[m"),
    ])
    func `a server's file name is one visible file here`(suggestion: String, expected: String) {
        #expect(BodyDestination.fileName(suggestion) == expected)
    }

    // Proves: SEC-60.
    @Test func `a message cannot drive the terminal`() {
        #expect(TerminalText.plain("a\u{1B}[2Jb\r\nc\u{9B}d") == "a?[2Jb??c?d")
    }

    @Test(arguments: [
        ("example.com/a", "https://example.com/a"), ("example.com:8080", "https://example.com:8080/"),
        ("localhost", "http://localhost/"), ("LOCALHOST:9/x", "http://localhost:9/x"),
        ("127.0.0.2:1", "http://127.0.0.2:1/"),
        ("[::1]:8080/", "http://[::1]:8080/"), ("127.example", "https://127.example/"),
        ("10.0.0.1", "https://10.0.0.1/"),
        ("http://a", "http://a/"), ("example.com?u=http://x", "https://example.com/?u=http://x"),
    ])
    func `a URL without a scheme is https, and http on this machine`(text: String, expected: String) throws {
        #expect(try GetTarget.url(text).description == expected)
    }

    @Test func `a user is named in the URL, whatever characters he has`() throws {
        let url = try GetTarget.url(URLRecord("http://x:y@a/b"), for: "ada@home:p:a/s%")
        #expect(url.username == "ada%40home" && url.password == "p%3Aa%2Fs%25" && url.redacted == "http://a/b")
    }

    @Test(arguments: [
        ("http://a/d/", "/tmp/x y", "http://a/d/x%20y"), ("http://a/d", "x", "http://a/d"),
        ("http://a/?q", "x", "http://a/?q"),
        ("http://a/", "-", "http://a/"),
    ])
    func `a file is put below a folder under its name`(url: String, file: String, expected: String) throws {
        #expect(try GetTarget.url(URLRecord(url), putting: file).description == expected)
    }

    @Test(
        arguments: [
            ("500", 500), ("2k", 2048), ("1M", 1 << 20), ("3g", 3 << 30), ("0", nil), ("-1", nil), ("1.5M", nil),
            ("k", nil),
            ("999999999999999g", nil),
        ] as [(String, Int64?)])
    func `a rate is written as people write it`(text: String, expected: Int64?) {
        #expect(SizeText.bytes(text) == expected)
    }

    @Test func `why certificates are always verified is told`() {
        let error = #expect(throws: (any Error).self) { try GetCommand.parse(["https://a", "-k"]) }
        #expect(error.map { GetCommand.message(for: $0) }?.contains("--cacert") == true)
    }

    @Test func `an unknown option is told with the one that was meant`() {
        let error = #expect(throws: (any Error).self) { try GetCommand.parse(["https://a", "--max-tme", "3"]) }
        #expect(error.map { GetCommand.message(for: $0) }?.contains("--max-time") == true)
    }
}
