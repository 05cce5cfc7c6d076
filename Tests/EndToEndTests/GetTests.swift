import Foundation
import Synchronization
import TestSupport
import Testing

/// Runs of `fetchd get`.
private enum Run {
    static func get(_ arguments: String...) async throws -> ProgramEnd { try await .of(["get"] + arguments) }
}

@Suite struct GetTests {
    private static let page = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nhi\n"

    @Test func `the body goes to standard output and nothing else does`() async throws {
        let origin = try WireOrigin(playing: Self.page)
        let run = try await Run.get(origin.url("/a?b=c"))
        #expect(run.status == 0)
        #expect(run.output == "hi\n")
        #expect(run.errors == "")
        let port = origin.port
        #expect(
            origin.received()
                == "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
                + "Accept-Encoding: gzip, deflate, br, zstd\r\nUser-Agent: fetchd\r\nAccept: */*\r\n\r\n"
        )
    }

    @Test func `method, fields and data reach the origin`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(7)
            try connection.send(Self.page)
        }
        let run = try await Run.get("-i", "-X", "PUT", "-H", "X-A: 1", "-d", "a=b", "-d", "c=d", origin.url())
        #expect(run.status == 0)
        #expect(run.output == Self.page)
        let received = origin.received()
        #expect(received.hasPrefix("PUT / HTTP/1.1\r\n"))
        #expect(received.contains("\r\nX-A: 1\r\n"))
        #expect(received.hasSuffix("\r\n\r\na=b&c=d"))
    }

    @Test func `redirects are followed, or given as they are`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isFirst = head.hasPrefix("GET /old ")
                let moved = "HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 5\r\n\r\nmoved"
                try connection.send(isFirst ? moved : Self.page)
            }
        }
        #expect(try await Run.get(origin.url("/old")).output == "hi\n")
        #expect(try await Run.get("--no-follow", origin.url("/old")).output == "moved")
        #expect(try await Run.get("--max-redirects", "0", origin.url("/old")).status == 47)
    }

    @Test func `the JSON document tells of response, redirects and metrics`() async throws {
        let origin = try WireOrigin(playing: Self.page)
        let run = try await Run.get("--json", origin.url())
        #expect(run.status == 0)
        let report = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        let response = try #require(report["response"] as? [String: Any])
        #expect(response["status"] as? Int == 200)
        #expect(response["mimeType"] as? String == "text/plain")
        #expect((report["body"] as? [String: Any])?["bytes"] as? Int == 3)
        #expect((report["metrics"] as? [[String: Any]])?.first?["remoteAddress"] as? String == "127.0.0.1")
        #expect((report["redirects"] as? [Any])?.isEmpty == true)
    }

    @Test func `an error status is an answer, and with --fail an exit code`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
        let answer = try await Run.get(origin.url())
        #expect(answer.status == 0)
        #expect(answer.output == "gone")
        let failure = try await Run.get("--fail", origin.url())
        #expect(failure.status == 22)
        #expect(failure.output == "")
    }

    @Test func `a body that breaks off leaves no file`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        }
        let path = NSTemporaryDirectory() + UUID().uuidString
        let run = try await Run.get("-o", path, origin.url())
        #expect(run.status == 56)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(run.errors.hasPrefix("fetchd: "))
    }

    @Test func `each kind of failure has its exit code`() async throws {
        let origin = try WireOrigin { connection in
            if try connection.receiveHead() == nil { return }
            try connection.receiveToEnd()
        }
        #expect(try await Run.get("--max-time", "0.2", origin.url()).status == 28)
        #expect(try await Run.get("--public-only", origin.url()).status == 4)
        #expect(try await Run.get("http://nothing.invalid/").status == 6)
        #expect(try await Run.get("http://127.0.0.1:1/").status == 7)
        let page = try WireOrigin(playing: Self.page)
        #expect(try await Run.get("-o", "/dev/full", page.url()).status == 23)
        #expect(try await Run.get("-d", "@/no/such/file", origin.url()).status == 26)
        #expect(try await Run.get("--no-such-option", origin.url()).status == 2)
        #expect(try await Run.get("ftp://example.com").status == 2)
    }

    // MARK: What curl's users type

    private static let letters = "abcdefghijklmnopqrstuvwxyz"

    /// An origin with a file of letters that goes on where it is asked to.
    private static func resumableOrigin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let start = head.firstMatch(of: /range: bytes=(\d+)-/.ignoresCase()).flatMap { Int($0.output.1) }
                guard let start else {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n" + letters)
                    continue
                }
                guard start < 26 else {
                    try connection.send(
                        "HTTP/1.1 416 No\r\nContent-Range: bytes */26\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                try connection.send(
                    "HTTP/1.1 206 Part\r\nContent-Range: bytes \(start)-25/26\r\nContent-Length: \(26 - start)\r\n\r\n"
                        + letters.dropFirst(start))
            }
        }
    }

    @Test func `a part of a file goes on where it ends, as curl's does`() async throws {
        let origin = try Self.resumableOrigin()
        let directory = try TemporaryDirectory()
        let hex = "71c480df93d6ae2f1efad1447c66c9525e316218cf51fc8d9ed832f2daf18b73"
        for (name, program) in [
            ("ours", [ServiceProcess.program, "get", "--checksum", "sha256:" + hex]),
            ("curls", ["/usr/bin/curl", "-s"]),
        ] {
            let path = directory.file(name)
            try "abcdefg".write(toFile: path, atomically: true, encoding: .utf8)
            try await Program.run(program + ["-C", "-", "-o", path, origin.url("/letters")])
            #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.letters, "\(name)")
            // It is complete.
            try await Program.run(
                program.filter { !$0.hasPrefix("--check") && !$0.hasPrefix("sha256") } + [
                    "-C", "-", "-o", path, origin.url("/letters"),
                ])
            #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.letters, "\(name)")
        }
        let path = directory.file("ours")
        let wrong = try await Run.get(
            "--checksum", "sha256:" + String(hex.reversed()), "-o", path, origin.url("/letters"))
        #expect(wrong.status == 97 && wrong.errors.contains("--checksum"))
        let missing = try WireOrigin(playing: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
        #expect(try await Run.get("-C", "-", "-o", path, missing.url()).status == 22)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.letters)
    }

    @Test func `what breaks off stays with -C -, and is completed by the next run`() async throws {
        let first = Mutex(true)
        let origin = try WireOrigin { connection in
            guard let head = try connection.receiveHead() else { return }
            if first.withLock({ isFirst in
                defer { isFirst = false }; return isFirst
            }) {
                return try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nabc")
            }
            #expect(head.lowercased().contains("range: bytes=3-"))
            try connection.send(
                "HTTP/1.1 206 Part\r\nContent-Range: bytes 3-25/26\r\nContent-Length: 23\r\n\r\n"
                    + Self.letters.dropFirst(3))
        }
        let directory = try TemporaryDirectory()
        let path = directory.file("letters")
        #expect(try await Run.get("-C", "-", "-o", path, origin.url()).status == 56)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "abc")
        #expect(try await Run.get("-C", "-", "-o", path, origin.url()).status == 0)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.letters)
    }

    @Test func `several URLs are fetched, and the last failure is the exit code`() async throws {
        let origin = try WireOrigin(playing: Self.page)
        let run = try await Run.get(origin.url("/1"), "127.0.0.1:\(origin.port)/2")
        #expect(run.status == 0 && run.output == "hi\nhi\n")
        let failing = try await Run.get("http://127.0.0.1:1/", origin.url("/3"))
        #expect(failing.status == 7 && failing.output == "hi\n")
    }

    @Test func `the head, a form and a file that is put are what curl sends`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length =
                    head.firstMatch(of: /content-length: (\d+)/.ignoresCase()).flatMap { Int($0.output.1) } ?? 0
                try connection.receive(length)
                let isHead = head.hasPrefix("HEAD ")
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (isHead ? "" : "ok"))
            }
        }
        let directory = try TemporaryDirectory()
        try "content".write(toFile: directory.file("note.txt"), atomically: true, encoding: .utf8)
        for arguments in [
            ["-I"], ["-T", directory.file("note.txt")],
            ["-F", "a=b", "-F", "f=@\(directory.file("note.txt"));type=text/x;filename=n"],
        ] {
            let heads = try await [[ServiceProcess.program, "get"], ["/usr/bin/curl", "-s"]].asyncMap { program in
                var text = ""
                let connection = origin.connections.count
                try await Program.run(program + arguments + [origin.url("/d/")])
                // The origin may note what it has read after it has answered.
                try await until {
                    text = origin.received(on: connection)
                    return text.contains("\r\n\r\n")
                }
                return [
                    String(text.prefix { $0 != "\r\n" }),
                    text.firstMatch(of: /content-type: ([a-z\/-]+)/.ignoresCase()).map { String($0.output.1) } ?? "-",
                    text.matches(of: /name="?(\w+)"?/).map { String($0.output.1) }.joined(separator: ","),
                    "\(text.contains("content"))",
                ]
            }
            // Where curl names no type, ours names that of the file.
            let isTyped = heads[1][1] != "-"
            let equal = heads.map { head in head.enumerated().filter { isTyped || $0.offset != 1 }.map(\.element) }
            #expect(equal[0] == equal[1], "\(arguments)")
        }
        #expect(try await Run.get("-I", origin.url()).output == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
    }

    @Test func `a user is named when the server asks, and a password in the arguments is warned of`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isKnown = head.contains("Authorization: Basic YWRhOnA6dw==")
                try connection.send(
                    isKnown
                        ? Self.page
                        : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let run = try await Run.get("-u", "ada:p:w", origin.url())
        #expect(run.status == 0 && run.output == "hi\n")
        #expect(run.errors.contains("can see the password") && !run.errors.contains("p:w"))
        let unasked = try await Run.get("-u", "ada", origin.url())
        #expect(unasked.status == 2 && unasked.errors.contains("no terminal"))
        let refused = try await Run.get("-k", origin.url())
        #expect(refused.status == 2 && refused.errors.contains("--cacert"))
    }

    @Test func `a busy server is asked again, and no more often than was said`() async throws {
        let count = Mutex(0)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try connection.send(
                    number == 3 ? Self.page : "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy")
            }
        }
        let run = try await Run.get("--retry", "5", origin.url())
        #expect(run.status == 0 && run.output == "hi\n" && count.withLock { $0 } == 3)
        #expect(run.errors.contains("Try 1 of 5"))
        count.withLock { $0 = 10 }
        let busy = try await Run.get("--fail", "--retry", "1", "-s", origin.url())
        #expect(busy.status == 22 && busy.errors == "" && count.withLock { $0 } == 12)
    }

    @Test func `a rate bounds how fast a body comes`() async throws {
        let body = String(repeating: "x", count: 60_000)
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + body)
        let start = ContinuousClock.now
        let run = try await Run.get("--limit-rate", "30k", origin.url())
        #expect(run.output.count == 60_000 && ContinuousClock.now - start > .seconds(1))
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { try await values.append(transform(element)) }
        return values
    }
}
