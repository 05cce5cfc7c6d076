import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct MultipartParserTests {
    /// A part as the parser gives it, with its pieces of data put together.
    struct Part: Equatable {
        var type: String?
        var text = ""
        var isEnded = false
    }

    // Proves: MPR-1, MPR-2, MPR-3.
    @Test(arguments: [
        ("b", "--b\r\nContent-Type: a/b\r\n\r\none\r\n--b\r\nContent-Type: c/d\r\n\r\ntwo\r\n--b--\r\nepilogue"),
        ("b", "preamble\r\n--b\r\nContent-Type: a/b\r\n\r\none\r\n--b \r\nContent-Type: c/d\r\n\r\ntwo\r\n--b--"),
        ("b", "\r\n--b\nContent-Type: a/b\n\none\n--b\nContent-Type: c/d\n\ntwo\n--b--"),
        ("\"b\"", "--b\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\none\r\n--b\r\nContent-Type: c/d\r\n\r\ntwo"),
        ("--b", "--b\r\nContent-Type: a/b\r\n\r\none\r\n--b\r\nContent-Type: c/d\r\n\r\ntwo\r\n--b--"),
        ("--b", "----b\r\nContent-Type: a/b\r\n\r\none\r\n----b\r\nContent-Type: c/d\r\n\r\ntwo\r\n----b--"),
        ("\"a b:c\"", "--a b:c\r\nContent-Type: a/b\r\n\r\none\r\n--a b:c\r\nContent-Type: c/d\r\n\r\ntwo"),
    ])
    func `parts are split, whatever the pieces`(parameter: String, body: String) throws {
        for size in [1, 2, 3, 7, 1000] {
            #expect(
                try parts(of: body, parameter, by: size) == [
                    Part(type: "a/b", text: "one", isEnded: true), Part(type: "c/d", text: "two", isEnded: true),
                ], "by \(size)")
        }
    }

    // Proves: MPR-3.
    @Test(arguments: [
        "a\r\n--", "\r\n", "-- b", "a\r\n-b", "a\r\r\n\n", "\r\n\r\n--\r\nx",
        "a\r\n--a\r\n--", "\r", "\n", "",
    ])
    func `what only looks like a boundary is data`(content: String) throws {
        for size in 1...5 {
            let parts = try parts(of: "--b\r\n\r\n\(content)\r\n--b--\r\n", "b", by: size)
            #expect(parts == [Part(text: content, isEnded: true)], "by \(size)")
        }
    }

    // Proves: MPR-3.
    @Test func `a part without fields or content is a part`() throws {
        for size in 1...5 {
            let parts = try parts(of: "--b\r\n\r\n--b\r\nA: b\r\n\r\n\r\n--b\r\n\r\nx", "b", by: size)
            #expect(parts == [Part(isEnded: true), Part(isEnded: true), Part(text: "x", isEnded: true)])
        }
    }

    // Proves: MPR-1.
    @Test func `data is given out before the part is over`() throws {
        var parser = MultipartParser(try #require(MultipartBoundary(Self.type("b"))))
        let events = try parser.parse("--b\r\n\r\nabc".utf8)
        #expect(events == [.head([:]), .data(Array("abc".utf8))])
        #expect(try parser.parse("def\r\n".utf8) == [.data(Array("def".utf8))])
    }

    // Proves: MPR-5.
    @Test(arguments: [
        "multipart/byteranges; boundary=b", "multipart/form-data; boundary=b", "multipart/mixed; boundary=b",
        "multipart/x-mixed-replace", "multipart/x-mixed-replace; boundary=", "text/plain; boundary=b", "",
    ])
    func `other types, and those without a boundary, are not split`(type: String) {
        #expect(MediaType(type).flatMap(MultipartBoundary.init) == nil)
    }

    // Proves: ERR-7.
    @Test func `a head without end fails, a preamble without end is dropped`() throws {
        var parser = MultipartParser(try #require(MultipartBoundary(Self.type("b"))))
        _ = try parser.parse(repeatElement(UInt8(ascii: "y"), count: 1 << 20))
        _ = try parser.parse("\r\n--b\r\n".utf8)
        #expect(throws: LoadError.self) { try parser.parse(repeatElement(UInt8(ascii: "x"), count: 40_000)) }
    }

    // A few kilobytes of gzip hold millions of these.
    @Test func `parts are counted when there is hardly anything in them`() throws {
        var parser = MultipartParser(try #require(MultipartBoundary(Self.type("b"))))
        let empty = Array(String(repeating: "--b\r\n\r\n", count: MultipartParser.freeParts + 1).utf8)
        #expect(throws: LoadError.self) { try parser.parse(empty) }
        var other = MultipartParser(try #require(MultipartBoundary(Self.type("b"))))
        let part = "--b\r\n\r\n\(String(repeating: "x", count: MultipartParser.minimumAverage))\r\n"
        let full = Array(String(repeating: part, count: MultipartParser.freeParts + 1).utf8)
        #expect(try other.parse(full).count == 3 * (MultipartParser.freeParts + 1) - 1)
    }

    @Test func `who reads a chunk of many parts is told to let others have their turn`() throws {
        var parser = MultipartParser(try #require(MultipartBoundary(Self.type("b"))))
        parser.append(Array(String(repeating: "--b\r\n\r\n", count: 5000).utf8))
        var (events, turns) = (0, 0)
        while try parser.next() != nil {
            events += 1
            if parser.endsTurn() { turns += 1 }
        }
        #expect(events == 9999)
        #expect(events / max(turns, 1) <= 128)
    }

    private static func type(_ parameter: String) throws -> MediaType {
        try #require(MediaType("Multipart/X-Mixed-Replace; x=y;Boundary=\(parameter)"))
    }

    private func parts(of body: String, _ parameter: String, by size: Int) throws -> [Part] {
        var parser = MultipartParser(try #require(MultipartBoundary(Self.type(parameter))))
        let bytes = Array(body.utf8)
        var events: [MultipartParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try parser.parse(bytes[start..<min(start + size, bytes.count)])
        }
        var parts: [Part] = []
        for event in events + parser.finish() {
            switch event {
            case .head(let fields): parts.append(Part(type: fields[.contentType]))
            case .data(let data): parts[parts.count - 1].text += String(decoding: data, as: UTF8.self)
            case .end: parts[parts.count - 1].isEnded = true
            }
        }
        return parts
    }
}

extension MultipartParser {
    /// All that is in the next bytes.
    fileprivate mutating func parse(_ bytes: some Collection<UInt8>) throws(LoadError) -> [Event] {
        append(bytes)
        var events: [Event] = []
        while let event = try next() { events.append(event) }
        return events
    }
}
