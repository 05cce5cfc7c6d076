/// An input of any size that is made to cost more than its size is worth.
struct HostileInput: CustomStringConvertible, Sendable {
    let target: FuzzTarget
    /// The text that it begins with, once.
    let head: String
    /// The text that it repeats; `#` is a number that differs each time.
    let unit: String
    /// The text that it ends with.
    let tail: String

    init(_ target: FuzzTarget, _ head: String, repeating unit: String, _ tail: String = "") {
        (self.target, self.head, self.unit, self.tail) = (target, head, unit, tail)
    }

    var description: String { "\(target): \(head.prefix(24).debugDescription)… \(unit.prefix(24).debugDescription)" }

    /// The input with at least so many bytes.
    ///
    /// Characters up to U+00FF are bytes, others are as in UTF-8.
    func bytes(_ count: Int) -> [UInt8] {
        var bytes = Self.bytes(of: head)
        let unit = Self.bytes(of: unit)
        let place = unit.firstIndex(of: UInt8(ascii: "#"))
        var number = 0
        while bytes.count < count {
            if let place {
                bytes += unit[..<place] + Array("\(number)".utf8) + unit[(place + 1)...]
                number += 1
            } else {
                bytes += unit
            }
        }
        return bytes + Self.bytes(of: tail)
    }

    private static func bytes(of text: String) -> [UInt8] {
        text.unicodeScalars.flatMap { scalar in
            scalar.value < 0x100 ? [UInt8(scalar.value)] : Array(String(Character(scalar)).utf8)
        }
    }
}

extension HostileInput {
    /// Half of a flag: where a run of them is cut into characters only its beginning tells.
    private static let flag = "\u{1F1E6}"
    /// Marks that have an order of their own, and are written in another.
    private static let marks = "\u{315}\u{327}"
    /// The same, as they may be written in a quoted text.
    private static let escapedMarks = "\\\u{315}\\\u{327}"
    /// A gzip member of nothing.
    private static let emptyMember =
        "\u{1F}\u{8B}\u{8}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{3}\u{3}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"

    /// For each reader an input that it would read again and again, if it were badly made.
    static let all: [HostileInput] = urls + fields + bodies + credentials + submissions

    private static let urls: [HostileInput] = [
        .init(.url, "http://h.example/", repeating: "a"), .init(.url, "http://h.example/", repeating: "a/"),
        .init(.url, "http://h.example/", repeating: "a/../"), .init(.url, "http://h.example/", repeating: "../"),
        .init(.url, "http://h.example/?", repeating: "a=b&"), .init(.url, "http://h.example/?", repeating: "%41"),
        .init(.url, "http://", repeating: "a.", "a/"), .init(.url, "http://", repeating: "\u{FC}\u{308}\u{301}", "/"),
        .init(.url, "http://", repeating: "xn--a.", "/"), .init(.url, "http://", repeating: "@", "h/"),
        .init(.url, "http://", repeating: "1.", "1/"), .init(.url, "file:///C:", repeating: "/.."),
        .init(.url, "http://h.example/", repeating: "\t\u{20}"), .init(.url, "x:", repeating: " ", "?"),
        .init(.url, "http://[", repeating: ":", "]/"), .init(.url, "http://h.example:", repeating: "0", "/"),
        .init(.targetGuard, "http://www.example.com/", repeating: "a"),
        .init(.targetGuard, "http://", repeating: "a.", "com/"),
        .init(.targetGuard, "http://www.example.com/", repeating: "../"),
        .init(.data, "text/plain", repeating: ";a#=b", ","), .init(.data, ";base64,", repeating: "AAAA"),
        .init(.data, ",", repeating: "%41"),
    ]

    private static let fields: [HostileInput] = [
        .init(.mediaType, "a/b", repeating: ";a#=b"), .init(.mediaType, "a/b;a=\"", repeating: "\\a"),
        .init(.mediaType, "a/b", repeating: ";"), .init(.responseHead, "HTTP/1.1 200 OK\n", repeating: "a#: b\n"),
        .init(.responseHead, "HTTP/1.1 200 OK\na: b\n", repeating: " x\n"),
        .init(.responseHead, "HTTP/1.1 200 OK\na: ", repeating: "\u{FF}"),
        .init(.responseHead, "HTTP/1.1 200 ", repeating: marks), .init(.responseHead, "HTTP/", repeating: marks),
        .init(.headerFields, "Content-Disposition: attachment; filename=\"", repeating: marks),
        .init(.headerFields, "Content-Disposition: ", repeating: marks),
        .init(.headerFields, "Set-Cookie: a=", repeating: marks),
        .init(.headerFields, "Retry-After: ", repeating: marks),
        .init(.headerFields, "Content-Type: a/b;charset=\"", repeating: escapedMarks),
        .init(.headerFields, "Content-Disposition: attachment; filename=\"", repeating: "a"),
        .init(.headerFields, "", repeating: "Set-Cookie: a=b\n"),
        .init(.headerFields, "Content-Type: a/b", repeating: ";a#=b"),
        .init(.setCookie, "a=b", repeating: ";a=b"), .init(.setCookie, "a=b;expires=", repeating: "1 "),
        .init(.setCookie, "a=", repeating: "x"), .init(.cookieFile, "", repeating: ".a.b\tTRUE\t/\tFALSE\t0\ta\tb\n"),
        .init(.cookieFile, ".a.b\t", repeating: marks, "\t/\tFALSE\t0\ta\tb\n"),
        .init(.cookieFile, ".", repeating: marks, "\tTRUE\t/\tFALSE\t0\ta\tb\n"),
        .init(.cookieFile, "", repeating: marks, "\tTRUE\t/\tFALSE\t0\ta\tb\n"),
        .init(.cookieFile, ".a.b\tTRUE\t/", repeating: marks, "\tFALSE\t0\ta\tb\n"),
        .init(.cookieFile, "", repeating: "\t\n"), .init(.challenges, "Basic a=b", repeating: ", a#=b"),
        .init(.challenges, "Digest realm=x, nonce=y, domain=\"", repeating: "/a "),
        .init(.challenges, "", repeating: "a "), .init(.challenges, "Basic ", repeating: "="),
        .init(.challenges, "", repeating: "Digest realm=a#, nonce=b, "), .init(.challenges, "\"", repeating: "\\\""),
        .init(.challenges, "Basic realm=\"", repeating: marks, "\""),
        .init(.challenges, "Digest nonce=a, realm=\"", repeating: escapedMarks, "\""),
        .init(.challenges, "Digest realm=a, nonce=b, algorithm=\"", repeating: marks, "-sess\""),
        .init(.ftpReply, "550 ", repeating: marks), .init(.ftpReply, "550 ", repeating: "permission "),
        .init(.cacheControl, "max-age=1", repeating: ", a#=b"),
        .init(.cacheControl, "a=\"", repeating: "\\\""), .init(.cacheControl, "\n\n\n\n\n", repeating: "a#,"),
        .init(.strictTransport, "max-age=1", repeating: ";a#=b"),
        .init(.contentDisposition, "attachment; filename=\"", repeating: "a", "\""),
        .init(.contentDisposition, "attachment; filename=\"", repeating: ".a", "\""),
        .init(.contentDisposition, "attachment; filename=\"", repeating: "a ", ".b\""),
        .init(.contentDisposition, "attachment; filename=\"", repeating: ". ", "\""),
        .init(.contentDisposition, "attachment; filename*=utf-8''", repeating: "%F0%9F%87%A6", ".a"),
        .init(.contentDisposition, "attachment; filename*=utf-8''a", repeating: "%CC%95%CC%A7"),
        .init(.contentDisposition, "attachment", repeating: ";a=b"), .init(.contentRange, "bytes ", repeating: "1-"),
        .init(.contentRange, "bytes=", repeating: "0"), .init(.dates, "Sun, ", repeating: "06 "),
        .init(.dates, "", repeating: "1:"), .init(.rateLimit, "\"a\"", repeating: ";a#=1"),
        .init(.rateLimit, "a=1", repeating: ", a#=1"), .init(.rateLimit, "\"a\"", repeating: ", \"a#\";r=0;t=1"),
        .init(.digestFields, "sha-256=:", repeating: "AAAA"), .init(.digestFields, "", repeating: "sha-256=:AAAA:,"),
        .init(.digestFields, "", repeating: flag),
    ]

    private static let bodies: [HostileInput] = [
        .init(.multipart, "", repeating: "--b\r\n\r\n"), .init(.multipart, "--b\r\n", repeating: "a:b\r\n"),
        .init(.multipart, "", repeating: "\n"), .init(.multipart, "--b\r\n\r\n", repeating: "\r\n-"),
        .init(.multipart, "--b\r\n\r\n", repeating: "\r"), .init(.multipart, "--b", repeating: " "),
        .init(.multipart, "", repeating: "--b\r\na: b\r\n\r\n\(String(repeating: "x", count: 200))\r\n"),
        .init(.gzip, "", repeating: emptyMember), .init(.gzip, "\u{1F}\u{8B}\u{8}\u{8}\0\0\0\0\0\u{3}", repeating: "a"),
        .init(.binHex, ":", repeating: " "), .init(.binHex, "", repeating: "\n"), .init(.binHex, ":", repeating: "!"),
        .init(.macBinary, "", repeating: "\0"), .init(.cacheFile, "", repeating: "\0"),
        .init(.resumeData, "", repeating: "\0\0\0\u{1}a"), .init(.uploadResumeData, "", repeating: "\0\0\0\u{1}a"),
        .init(.cookieStore, "", repeating: "\0\0\0\u{1}a"),
    ]

    private static let credentials: [HostileInput] = [
        .init(.keys, "-----BEGIN CERTIFICATE-----\n", repeating: "AAAA\n"),
        .init(.keys, "", repeating: "-----BEGIN CERTIFICATE-----\n"),
        .init(.keys, "", repeating: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
        .init(.keys, "", repeating: "0\u{80}"),
    ]

    private static let submissions: [HostileInput] = [
        .init(.jobJSON, "{\"a\": 1", repeating: ", \"a#\": 1", "}"), .init(.jobJSON, "[", repeating: "[],", "1]"),
        .init(.jobJSON, "", repeating: "["), .init(.jobJSON, "{\"url\": \"", repeating: "\\u0041", "\"}"),
        .init(.jobJSON, "{\"", repeating: marks, "\": 1}"), .init(.jobJSON, "{\"", repeating: flag, "\": 1, \"a\": 2}"),
        .init(.jobJSON, "{\"headers\": [1", repeating: ", {\"name\": \"a\"}", "]}"),
        .init(
            .jobJSON, "{\"request\": {\"urlTemplate\": \"http://h.example/{a0}{a1}\", \"variables\": {\"a\": \"\"",
            repeating: ", \"a#\": \"b\"", "}}}"),
        .init(.cursor, "", repeating: "LmEu"), .init(.cursor, "", repeating: "-_"), .init(.cursor, "", repeating: flag),
        .init(.cron, "* * * * ", repeating: "0,", "0"), .init(.cron, "", repeating: "* "),
        .init(.curl, "curl a ", repeating: "-HA:b "), .init(.curl, "curl a -d '", repeating: "a", "'"),
        .init(.curl, "curl a -d", repeating: "'a'"), .init(.curl, "curl a -", repeating: "s"),
        .init(.curl, "curl a -H $'a: ", repeating: "\\u0315\\u0327", "'"), .init(.curl, "", repeating: marks),
        .init(.curl, "curl a -d $'", repeating: "\\x41", "'"), .init(.curl, "curl ", repeating: "-Ab "),
        .init(.curl, "curl a --data-urlencode '", repeating: "\u{E4}", "'"),
        .init(.curl, "curl a -b", repeating: "'c=d'"),
        .init(.curl, "curl a -x ", repeating: ":1"), .init(.curl, "curl a -x b", repeating: "/"),
        .init(.curl, "curl a?b -G ", repeating: "-dx "), .init(.curl, "curl a # ", repeating: "#"),
        .init(.issuerKeys, "{\"keys\": [1", repeating: ", {\"kty\": \"EC\", \"kid\": \"a#\"}", "]}"),
        .init(.issuerKeys, "{\"keys\": [{\"kty\": \"RSA\", \"e\": \"AQAB\", \"n\": \"", repeating: "A", "\"}]}"),
        .init(.clientFields, "", repeating: "a"), .init(.clientFields, "[", repeating: ":", "]"),
        .init(.clientFields, "a\n", repeating: "wait=1;"), .init(.clientFields, "a\n", repeating: ", a#=\" 1"),
        .init(.clientFields, "a\nwait=", repeating: "9"), .init(.token, "fs_", repeating: "1."),
        .init(.operations, "{\"mode\": \"open\", \"deny\": [{\"hosts\": [\"a\"", repeating: ", \"a#.example\"", "]}]}"),
        .init(.operations, "{\"labels\": {\"a\": \"b\"", repeating: ", \"a#\": \"b\"", "}}"),
        .init(.operations, "{\"answer\": \"useBody\", \"body\": {\"text\": \"", repeating: marks, "\"}}"),
        .init(
            .operations, "{\"on\": \"didReceiveResponse\", \"headers\": {\"a\": \"b\"", repeating: ", \"a#\": \"b\"",
            "}}"),
        .init(.query, "", repeating: "a#=b&"), .init(.query, "a=", repeating: "%41"),
        .init(.xmlCall, xml, repeating: "<value><array><data>"), .init(.xmlCall, xml, repeating: "&amp;", xmlEnd),
        .init(.xmlCall, xml, repeating: "<!---->", xmlEnd), .init(.xmlCall, xml, repeating: "<![CDATA[a]]>", xmlEnd),
        .init(.xmlCall, xml + "<array><data>", repeating: "<value/>", "</data></array>" + xmlEnd),
        .init(
            .xmlCall, xml + "<struct>", repeating: "<member><name>a#</name><value>b</value></member>",
            "</struct>" + xmlEnd),
        .init(.xmlCall, xml + "<boolean>", repeating: marks, "</boolean>" + xmlEnd),
        .init(.xmlCall, xml + "<int>", repeating: marks, "</int>" + xmlEnd),
        .init(
            .xmlCall, xml + "<struct><member><name>", repeating: marks,
            "</name><value/></member></struct>" + xmlEnd),
        .init(.xmlCall, xml, repeating: marks, xmlEnd), .init(.query, "", repeating: marks),
        .init(.query, "a&", repeating: "%CC%95%CC%A7"), .init(.token, "", repeating: marks),
        .init(.xmlCall, "<!--", repeating: "-"), .init(.xmlCall, "<?", repeating: "?"),
        .init(.xmlCall, "<methodCall ", repeating: "a=\"b\" "), .init(.xmlCall, "<![CDATA[", repeating: "]"),
    ]
    private static let xml = "<methodCall><params><param><value>"
    private static let xmlEnd = "</value></param></params></methodCall>"
}
