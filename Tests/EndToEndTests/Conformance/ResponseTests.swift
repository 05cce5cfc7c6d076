import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The response in the representation of a job.
@Suite(.sharedServiceAndHTTPBin) struct ResponseTests {
    // Proves: RSP-1, RSP-2, CON-10.
    @Test func `a job tells of its response, and the body lies apart`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Content-Type: text/html; charset=ISO-8859-1", body: "marrow"))
        let job = try await rig.fetch(play.url("page"))
        #expect(member(job, "response", "mimeType") == "text/html")
        #expect(member(job, "response", "textEncodingName") == "ISO-8859-1")
        #expect(member(job, "response", "expectedContentLength") == 6)
        #expect(member(job, "response", "url") == play.url("page"))
        #expect(member(job, "body", "bytes") == 6)
        #expect(!"\(job)".contains("marrow"))
        #expect(try await rig.text(of: job) == "marrow")
    }

    // Of a chunked or a compressed body nobody knows the length before its end.
    // Proves: RSP-5.
    @Test func `a length that is not known is not told`() async throws {
        let rig = try SharedService.current
        let chunked = rig.stage.play("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
        for url in [chunked.url(), try rig.bin("/gzip")] {
            let job = try await rig.fetch(url)
            #expect(status(of: job) == 200)
            #expect(member(job, "response", "expectedContentLength", as: Int.self) == nil)
        }
        let empty = try await rig.fetch(rig.stage.play(answer()).url())
        #expect(member(empty, "response", "expectedContentLength") == 0)
    }

    // Proves: RSP-4.
    @Test func `fields come as they were sent, whatever the server's manners`() async throws {
        let rig = try SharedService.current
        var bytes = Array("HTTP/1.1 200\r\nX-Twice: 1\r\nx-twice: 2\r\nX-Empty:\r\nX-Close:3\r\nX-Latin: caf".utf8)
        bytes += [0xE9] + Array("\r\nX-Wide: caf\u{E9}\r\nContent-Length: 0\r\n\r\n".utf8)
        let job = try await rig.fetch(rig.stage.play([bytes]).url())
        let fields = try #require(member(job, "response", "headers", as: [[String: String]].self))
        #expect(
            fields == [
                ["name": "X-Twice", "value": "1"], ["name": "x-twice", "value": "2"], ["name": "X-Empty", "value": ""],
                ["name": "X-Close", "value": "3"], ["name": "X-Latin", "value": "caf\u{E9}"],
                ["name": "X-Wide", "value": "caf\u{E9}"], ["name": "Content-Length", "value": "0"],
            ])
    }

    // Proves: RSP-3, DLD-4, SEC-47.
    @Test(arguments: [
        ("a.txt", "attachment; filename=\"b c.txt\"", "b c.txt"),
        ("a.txt", "attachment; filename=b.txt; filename*=UTF-8''%e2%82%ac.txt", "\u{20AC}.txt"),
        ("a.txt", "attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("a.txt", "inline", "a.txt"),
        ("caf%C3%A9/x%20y.pdf?z=1", nil, "x y.pdf"),
    ])
    func `a response suggests a file name that is safe`(_ path: String, _ disposition: String?, _ name: String)
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", disposition.map { "Content-Disposition: \($0)" } ?? "X: y"))
        #expect(member(try await rig.fetch(play.url(path)), "response", "suggestedFilename") == name)
    }

    // The content of a data URL is no name.
    // Proves: RSP-3, NET-4.
    @Test func `a data URL has a name by its type`() async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch("data:text/html;base64,aGk=")
        #expect(member(job, "response", "suggestedFilename") == "download.html")
        #expect(try await rig.text(of: job) == "hi")
    }

    // The response is the same each time that the job is read.
    // Proves: RSP-6, RSP-7.
    @Test func `an interim response is not the response`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer("200 OK", "X: y"))
        let job = try await rig.fetch(play.url())
        #expect(status(of: job) == 200)
        let id = try #require(member(job, "id", as: String.self))
        for _ in 0..<2 {
            let again = try await rig.service.request(.get, "/v1/jobs/\(id)").json
            let responses = [again, job].map { NSDictionary(dictionary: $0["response"] as? [String: Any] ?? [:]) }
            #expect(responses[0] == responses[1])
        }
    }

    // Proves: DCD-7, BEY-31.
    @Test(arguments: [("gzip", "gzipped", "gzip"), ("deflate", "deflated", "deflate"), ("brotli", "brotli", "br")])
    func `a content coding is undone`(_ path: String, _ name: String, _ coding: String) async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(try rig.bin("/\(path)"))
        #expect(member(try await rig.echo(of: job), name) == true)
        let fields = try #require(member(job, "response", "headers", as: [[String: String]].self))
        #expect(fields.first { $0["name"] == "Content-Encoding" }?["value"] == coding)
    }

    // The coding of the transfer, and not the file that is in it.
    // Proves: DCD-7.
    @Test func `a compressed file that was compressed on its way is decoded once`() async throws {
        let rig = try SharedService.current
        let inner = try await gzip(Array("hello".utf8))
        let outer = try await gzip(inner)
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(outer.count)\r\n\r\n"
        let play = rig.stage.play([Array(head.utf8) + outer])
        #expect(try await rig.body(of: try await rig.fetch(play.url("f.gz"))) == inner)
        let file = try await rig.fetch(play.url("f.gz"), more: #""kind": "download""#)
        #expect(try await rig.body(of: file) == inner)
        #expect(member(file, "file", "filename") == "f.gz")
    }

    // The limit counts decoded bytes.
    // Proves: BEY-31, ERR-4, TSK-15, LIF-6.
    @Test func `a body that grows when it is decoded meets its limit`() async throws {
        let rig = try SharedService.current
        let bomb = try await gzip([UInt8](repeating: 0, count: 5_000_000))
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n"
        let play = rig.stage.play([Array(head.utf8) + bomb])
        let job = try await rig.fetch(play.url(), configuration: #""response": {"maximumBytes": 100000}"#)
        #expect(bomb.count < 100_000)
        #expect(errorName(of: job) == "dataLengthExceedsMaximum")
    }

    // Proves: ERR-2.
    @Test func `a refusal by the server is a response like any other`() async throws {
        let rig = try SharedService.current
        for code in [404, 500] {
            let job = try await rig.fetch(rig.stage.play(answer("\(code) No", body: "sorry")).url())
            #expect(member(job, "state") == "succeeded" && status(of: job) == code)
            #expect(try await rig.text(of: job) == "sorry")
        }
    }
}

/// The gzip file that GNU gzip makes of some bytes.
func gzip(_ bytes: [UInt8]) async throws -> [UInt8] {
    let file = try TemporaryFile(bytes)
    let status = try await onThread { try Program(["/usr/bin/gzip", "-n", "-k", file.path]).waitForEnd() }
    try #require(status == 0)
    defer { try? FileManager.default.removeItem(atPath: file.path + ".gz") }
    return Array(try Data(contentsOf: URL(filePath: file.path + ".gz")))
}
