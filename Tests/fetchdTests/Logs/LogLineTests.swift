import FetchJobs
import Foundation
import Logging
import Synchronization
import Testing

@testable import fetchd

/// Lines of the log: their forms, and what text from elsewhere cannot do to them.
@Suite struct LogLineTests {
    private static let time = Timestamp(microseconds: 1_700_000_000_123_000)

    private func line(_ fields: [(name: String, value: String)], message: String = "job finished") -> LogLine {
        LogLine(time: Self.time, level: .notice, message: message, fields: fields)
    }

    private func text(_ line: LogLine, _ format: LogFormat, hasColor: Bool = false) -> String {
        String(decoding: line.bytes(format, hasColor: hasColor), as: UTF8.self)
    }

    /// What a JSON parser makes of a line; all of its members are texts.
    private func members(_ line: LogLine) throws -> [String: String] {
        let bytes = line.bytes(.json)
        #expect(bytes.last == UInt8(ascii: "\n") && !bytes.dropLast().contains { $0 < 0x20 })
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String])
    }

    @Test func `an event is one line in each format`() throws {
        let line = line([("job.id", "job_1"), ("error", "it is \"gone\""), ("load.code", "")])
        #expect(
            text(line, .logfmt) == """
                time=2023-11-14T22:13:20.123Z level=notice msg="job finished" job.id=job_1 error="it is \\"gone\\"" \
                load.code=""

                """)
        #expect(
            text(line, .pretty) == """
                2023-11-14T22:13:20.123Z notice   job finished job.id=job_1 error="it is \\"gone\\"" load.code=""

                """)
        #expect(text(line, .pretty, hasColor: true).contains("\u{1B}[36mnotice  \u{1B}[0m job finished"))
        #expect(
            try members(line) == [
                "time": "2023-11-14T22:13:20.123Z", "level": "notice", "msg": "job finished", "job.id": "job_1",
                "error": "it is \"gone\"", "load.code": "",
            ])
    }

    @Test(arguments: [
        "a\nlevel=error msg=forged", "a\r\n{\"level\":\"error\"}", "\u{1B}[2J\u{1B}]0;title\u{7}", "\u{0}\u{8}\u{7F}",
        "\u{85}\u{9B}31m", "\u{2028}\u{2029}", "\u{202E}drowssap\u{2066}", "\u{E0001}\u{200B}", "\"", "\\", "\\n", "=",
        "a b=c",
        "é ☃ 😀",
    ])
    func `no text forges a line, and JSON gives it back as it was`(_ hostile: String) throws {
        let line = line([("error", hostile), ("after", "1")], message: hostile)
        let members = try members(line)
        #expect(members["error"] == hostile && members["msg"] == hostile && members["after"] == "1")
        for format in LogFormat.allCases {
            let text = text(line, format)
            #expect(text.unicodeScalars.filter { $0 == "\n" }.count == 1 && text.hasSuffix("\n"))
            let rest = text.dropLast().unicodeScalars
            #expect(
                !rest.contains {
                    [.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
                })
        }
        // The next field is where it would be without the text.
        #expect(text(line, .logfmt).hasSuffix(" after=1\n"))
    }

    @Test(arguments: LogFormat.allCases)
    func `a line is never longer than a pipe takes at once`(_ format: LogFormat) throws {
        let long = String(repeating: "\u{1}😀", count: 100_000)
        let fields = (0..<20).map { (name: "field.\($0)", value: long) }
        let line = line(fields, message: long)
        #expect(line.bytes(format).count <= LogLine.maximumBytes)
        #expect(text(line, format).contains("log.truncated"))
        if format == .json { #expect(try members(line)["field.0"]?.hasSuffix("…") == true) }
    }

    @Test(arguments: [
        ("https://user:sesame@host.example:8443/a/b?token=sesame#x is gone", "https://host.example:8443/a/b is gone"),
        ("http://h/?sesame and ftp://u:sesame@f/x", "http://h/ and ftp://f/x"),
        ("\"https://h?sesame\", then", "\"https://h\", then"),
        ("postgres://fetchd:sesame@db/fetchd?sslmode=x", "postgres://db/fetchd"),
        ("no URL: a?b@c", "no URL: a?b@c"), ("://", "://"), ("", ""),
    ])
    func `a URL in a text is cut down to scheme, host and path`(_ text: String, _ expected: String) {
        #expect(LogText.withoutSecretsOfURLs(text) == expected)
    }
}
