import Foundation
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
        #expect(try await Run.get("example.com").status == 2)
    }
}
