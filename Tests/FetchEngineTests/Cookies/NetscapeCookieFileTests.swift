import FetchEngine
import Testing

@Suite struct NetscapeCookieFileTests {
    private static let now = UnixTime(seconds: 1_800_000_000)

    // Proves: COK-5.
    @Test func `a file is read line by line`() {
        let text = """
            # Netscape HTTP Cookie File
            # a comment

            example.org\tFALSE\t/\tFALSE\t0\tsession\t1
            .example.org\tTRUE\t/p\tTRUE\t1800000060\tpersistent\t2\r
            #HttpOnly_www.example.org\tFALSE\t/\tTRUE\t0\t__Host-id\ta\tb
            example.org\tTRUE\t/\tFALSE\t0\tbelow\t
            example.org\tFALSE\t/\tFALSE\t0\tempty
            example.org\tFALSE\t/\tFALSE\t1700000000\tgone\t1
            127.0.0.1\tFALSE\t/\tFALSE\t99999999999\taddress\t3
            """
        let file = NetscapeCookieFile(reading: Array(text.utf8), at: Self.now)
        #expect(file.rejectedLines == [])
        #expect(
            file.cookies.map(\.description) == [
                "session for example.org/", "persistent for .example.org/p", "__Host-id for www.example.org/",
                "below for .example.org/", "empty for example.org/", "address for 127.0.0.1/",
            ])
        #expect(file.cookies.map(\.value) == ["1", "2", "a\tb", "", "", "3"])
        #expect(file.cookies.map(\.isSecure) == [false, true, true, false, false, false])
        #expect(file.cookies.map(\.isHTTPOnly) == [false, false, true, false, false, false])
        #expect(file.cookies[0].isSessionOnly)
        #expect(file.cookies[1].expires == UnixTime(seconds: 1_800_000_060))
        #expect(file.cookies[5].expires == Self.now.advanced(by: .seconds(400 * 86400)))
    }

    // Proves: COK-5.
    @Test(arguments: [
        "too\tfew", ".com\tTRUE\t/\tFALSE\t0\ta\t1", "h\tMAYBE\t/\tFALSE\t0\ta\t1", "h\tFALSE\t/\tFALSE\tsoon\ta\t1",
        "h\tFALSE\tx\tFALSE\t0\ta\t1", "h\tFALSE\t/\tFALSE\t-1\ta\t1", "h/\tFALSE\t/\tFALSE\t0\ta\t1",
        "h\tFALSE\t/\tFALSE\t0\t__Secure-a\t1", "h\tFALSE\t/\tFALSE\t0\ta\t1;", "h\tFALSE\t/\tFALSE\t0\t\t", "\u{0}",
    ])
    func `a line that holds no cookie is told by its number`(_ line: String) {
        let file = NetscapeCookieFile(reading: Array("# \n\(line)\nh\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8), at: Self.now)
        #expect(file.rejectedLines == [2])
        #expect(file.cookies.count == 1)
    }

    // Proves: COK-5.
    @Test func `what is written is read again`() throws {
        let cookies = [
            try Cookie(name: "a", value: "1", domain: "example.org", creationTime: Self.now),
            try Cookie(
                nameBytes: [0xE9], valueBytes: Array("x\ty".utf8) + [0xFF], domain: ".example.org", path: "/p",
                expires: Self.now.advanced(by: .seconds(5)), isSecure: true, isHTTPOnly: true, creationTime: Self.now),
            try Cookie(name: "", value: "bare", domain: "[::1]", creationTime: Self.now),
        ]
        let file = NetscapeCookieFile(reading: NetscapeCookieFile(cookies).bytes, at: Self.now)
        #expect(file.cookies == cookies)
        #expect(file.rejectedLines == [])
        let unwritable = try Cookie(name: "a\tb", value: "1", domain: "example.org")
        #expect(NetscapeCookieFile([unwritable]).bytes == NetscapeCookieFile([]).bytes)
    }

    // Proves: COK-5.
    @Test func `a cookie that has ended never becomes a session cookie`() throws {
        let ended = try Cookie(name: "a", value: "1", domain: "h", expires: UnixTime(seconds: 0))
        #expect(String(decoding: NetscapeCookieFile([ended]).bytes, as: UTF8.self).contains("\t1\ta\t1\n"))
    }
}
