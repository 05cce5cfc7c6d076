import ArgumentParser
import FetchEngine
import Testing

@testable import fetchd

@Suite struct GetCommandTests {
    @Test(arguments: [
        [], ["example.com"], ["ftp://example.com/"], ["http://"], ["http://a", "http://b"], ["http://a", "--bogus"],
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
        ["http://a", "--max-time", "0.5"],
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
}
