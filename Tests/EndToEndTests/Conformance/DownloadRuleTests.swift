import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The files that downloads make of the responses of origins.
@Suite(.sharedServiceAndHTTPBin) struct DownloadRuleTests {
    private func download(_ url: String, _ configuration: String = "", session: String? = nil) async throws
        -> [String: Any]
    {
        try await SharedService.current.fetch(
            url, configuration: configuration, session: session, more: #""kind": "download""#)
    }

    /// A file of the engine's own test data.
    private func macintosh(_ name: String) throws -> [UInt8] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "FetchEngineTests/Resources/mac")
        return Array(try Data(contentsOf: folder.appending(path: name)))
    }

    /// The same, served as some type.
    private func macintosh(_ name: String, as type: String, _ rig: Rig) throws -> Stage.Play {
        serve(try macintosh(name), as: type, rig)
    }

    private func serve(_ bytes: [UInt8], as type: String, _ rig: Rig) -> Stage.Play {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(bytes.count)\r\n\r\n"
        return rig.stage.play([Array(head.utf8) + bytes])
    }

    // By its type, its extension and its content.
    // Proves: DCD-1, DCD-3, DCD-4, DCD-5, DCD-8.
    @Test(arguments: [
        ("macbinary3.bin", "application/macbinary", "file.bin", "macBinary"),
        ("macbinary1.bin", "application/x-macbinary", "file", "macBinary"),
        ("macutils.hqx", "application/mac-binhex40", "file", "binHex"),
        ("macutils.hqx", "application/octet-stream", "file.hqx", "binHex"),
    ])
    func `a Macintosh file is taken apart`(_ name: String, _ type: String, _ path: String, _ format: String)
        async throws
    {
        let rig = try SharedService.current
        let play = try macintosh(name, as: type, rig)
        let job = try await download(play.url(path), #""response": {"decode": ["\#(format)"]}"#)
        #expect(member(job, "file", "filename", as: String.self)?.hasPrefix("Test File") == true, "\(job)")
        #expect(member(job, "file", "macintosh", "type") == "TEXT")
        #expect(member(job, "file", "macintosh", "creator") == "ttxt")
        let fork = try #require(member(job, "file", "resourceFork", as: String.self))
        let expected = try macintosh("expected.rsrc", as: "a/b", rig)
        let whole = try await rig.body(of: try await rig.fetch(expected.url()))
        #expect(try await rig.service.request(.get, "/v1/blobs/\(fork)").body == whole)
        let data = try await rig.fetch(try macintosh("expected.data", as: "a/b", rig).url())
        #expect(try await rig.body(of: job) == (try await rig.body(of: data)))
    }

    // Seconds since 1904, by a clock without a zone.
    // Proves: DCD-4.
    @Test func `a Macintosh file tells when it was made and changed`() async throws {
        let rig = try SharedService.current
        var file = try macintosh("macbinary1.bin")
        // A day, and two, after the first second of 1970.
        file.replaceSubrange(91..<99, with: [2_082_844_800 + 86_400, 2_082_844_800 + 172_800].flatMap(Self.bytes))
        let job = try await download(
            serve(file, as: "application/x-macbinary", rig).url("dated"), #""response": {"decode": ["macBinary"]}"#)
        let dates = ["created", "modified"].map { member(job, "file", "macintosh", $0, as: String.self)?.prefix(19) }
        #expect(dates == ["1970-01-02T00:00:00", "1970-01-03T00:00:00"], "\(job)")
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    // Of the header, the one fork and the other: wherever a character is another.
    // Proves: DCD-5.
    @Test(arguments: [0.1, 0.5, 0.9])
    func `a BinHex file whose checksum is wrong fails its job`(_ place: Double) async throws {
        let rig = try SharedService.current
        var file = try macintosh("macutils.hqx")
        let start = try #require(file.firstIndex(of: UInt8(ascii: ":"))) + 1
        var index = start + Int(place * Double(file.count - start))
        while file[index] <= 0x20 { index += 1 }
        file[index] = file[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let job = try await download(
            serve(file, as: "application/mac-binhex40", rig).url("wrong.hqx"), #""response": {"decode": ["binHex"]}"#)
        #expect(member(job, "state") == "failed" && job["body"] == nil, "\(job)")
        #expect(
            ["downloadDecodingFailedMidStream", "downloadDecodingFailedToComplete"].contains(errorName(of: job)))
    }

    // A file is decoded only when the job asks for it, and a label alone makes no format.
    // Proves: DCD-2, DCD-3.
    @Test func `a file is decoded only when asked, and only if it is what it says`() async throws {
        let rig = try SharedService.current
        let bytes = try await gzip(Array("hello".utf8))
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Length: \(bytes.count)\r\n\r\n"
        let zipped = rig.stage.play([Array(head.utf8) + bytes])
        let kept = try await download(zipped.url("a.gz"), #""response": {"decode": ["macBinary", "binHex"]}"#)
        #expect(try await rig.body(of: kept) == bytes)
        #expect(member(kept, "file", "decodedFrom", as: String.self) == nil)
        let plain = rig.stage.play(answer("200 OK", "Content-Type: application/x-gzip", body: "no gzip at all"))
        let same = try await download(plain.url("b.gz"), #""response": {"decode": ["gzip"]}"#)
        #expect(try await rig.text(of: same) == "no gzip at all", "\(same)")
    }

    // A job takes from its session the members that it leaves out.
    @Test func `a session says what becomes of its downloads`() async throws {
        let rig = try SharedService.current
        let bytes = try await gzip(Array("hello".utf8))
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Length: \(bytes.count)\r\n\r\n"
        let play = rig.stage.play([Array(head.utf8) + bytes])
        let session = try await rig.makeSession(
            #"{"configuration": {"response": {"decode": ["gzip"]}, "destination": {"filename": "of-session"}}}"#)
        let job = try await download(play.url("a.gz"), session: session)
        #expect(member(job, "file", "filename", as: String.self)?.hasPrefix("of-session") == true, "\(job)")
        #expect(try await rig.text(of: job) == "hello")
    }

    // Used when it is there, and never put there.
    // Proves: DLD-8.
    @Test func `a download is given a stored answer, and stores none`() async throws {
        let rig = try SharedService.current
        let (play, session) = (
            rig.stage.play(answer("200 OK", "Cache-Control: max-age=99", body: "x")), try await rig.makeSession()
        )
        for _ in 0..<2 { _ = try await download(play.url(), session: session) }
        #expect(play.requests.count == 2)
        _ = try await rig.fetch(play.url(), session: session)
        let job = try await download(play.url(), session: session)
        #expect(member(job, "response", "fromCache") == true)
        #expect(try await rig.text(of: job) == "x" && play.requests.count == 3)
    }

    // Proves: DLD-17, UPL-1.
    @Test func `a download sends a body like any other job`() async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(
            try rig.bin("/post"), #""method": "POST", "body": {"text": "up"}"#, more: #""kind": "download""#)
        #expect(member(try await rig.echo(of: job), "data") == "up")
        #expect(member(job, "file", "filename", as: String.self)?.hasPrefix("post") == true)
    }

    // With a validator it can, without one it cannot, and another resource never.
    // Proves: DLD-13, DLD-15, LIF-15.
    @Test(arguments: [("ETag: \"a\"", true), ("X-None: 1", false), ("ETag: W/\"a\"", false)])
    func `a download that breaks off can be gone on with when it can be proven the same`(
        _ field: String, _ isResumable: Bool
    ) async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            guard number > 0 else {
                try connection.send(
                    "HTTP/1.1 200 OK\r\n\(field)\r\nAccept-Ranges: bytes\r\nContent-Length: 9\r\n\r\n12345")
                throw CancellationError()
            }
            try connection.send(
                "HTTP/1.1 206 P\r\n\(field)\r\nContent-Range: bytes 5-8/9\r\nContent-Length: 4\r\n\r\n6789")
        }
        let job = try await download(play.url("f"))
        #expect(errorName(of: job) == "networkConnectionLost")
        let data = member(job, "error", "resumeData", as: String.self)
        #expect((data != nil) == isResumable, "\(job)")
        guard let data else { return }
        let rest = try await rig.fetch(
            play.url("f"), more: #""kind": "download", "resumeFrom": "\#(data)""#)
        #expect(try await rig.text(of: rest) == "123456789")
        #expect(play.requests.last?.values("range") == ["bytes=5-"])
    }

    // It has none: neither a job that is one from its beginning, nor one that its response makes one.
    // Proves: DLD-16.
    @Test func `a download of an ephemeral session leaves no checkpoint`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession(#"{"kind": "ephemeral"}"#)
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 300000\r\n\r\n")
            try connection.send(pattern(200_000))
            try gate.wait()
            try connection.send(pattern(100_000))
        }
        func checkpoint(_ id: String) -> Bool {
            FileManager.default.fileExists(atPath: "\(rig.place.directory)/downloads/\(id)/checkpoint")
        }
        for (members, pointer) in [
            (#""kind": "download""#, "/kind"),
            (
                #""configuration": {"response": {"becomeDownload": {"mimeTypes": ["a/b"]}}}"#,
                "/configuration/response/becomeDownload"
            ),
        ] {
            let refused = try await rig.service.request(
                .post, "/v1/jobs", body: #"{"session": "\#(session)", "request": "\#(play.url())", \#(members)}"#)
            #expect(refused.status == 422, "\(refused.text)")
            #expect(member(refused.json, "errors", "0", "pointer") == pointer, "\(refused.text)")
        }
        let stored = try await rig.submit(#"{"kind": "download", "request": "\#(play.url("stored"))"}"#)
        try await until { checkpoint(stored) }
        let data = try await rig.submit(#"{"session": "\#(session)", "request": "\#(play.url("memory"))"}"#)
        _ = try await rig.service.job(data) { member($0, "progress", "bytesReceived") == 200_000 }
        #expect(!FileManager.default.fileExists(atPath: "\(rig.place.directory)/downloads/\(data)"))
        gate.open()
        for id in [stored, data] { _ = try await rig.service.job(id) { member($0, "state") == "succeeded" } }
    }

    // The place for files is gone, and later there again.
    // Proves: DLD-18, ERR-4.
    @Test func `a file that cannot be written fails its job, and no other`() async throws {
        let origin = try WireOrigin(playing: answer(body: "x"))
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (files, away) = (place.directory + "/downloads", place.directory + "/away")
            try FileManager.default.moveItem(atPath: files, toPath: away)
            try "in the way".write(toFile: files, atomically: true, encoding: .utf8)
            let job = try await service.fetch(origin.url("/f"), more: #", "kind": "download""#)
            #expect(errorName(of: job) == "cannotWriteToFile")
            #expect(status(of: try await service.fetch(origin.url("/f"))) == 200)
            try FileManager.default.removeItem(atPath: files)
            try FileManager.default.moveItem(atPath: away, toPath: files)
            let later = try await service.fetch(origin.url("/f"), more: #", "kind": "download""#)
            #expect(member(later, "state") == "succeeded")
            #expect(try await service.stop() == 0)
        }
    }

    // The service lives on.
    // Proves: DLD-18, DLD-4.
    @Test func `a name that no file can have is refused, and a long one is cut`() async throws {
        let rig = try SharedService.current
        let long = String(repeating: "n", count: 400) + ".txt"
        let play = rig.stage.play(answer("200 OK", "Content-Disposition: attachment; filename=\"\(long)\"", body: "x"))
        let job = try await download(play.url())
        let name = try #require(member(job, "file", "filename", as: String.self), "\(job)")
        #expect(name.utf8.count <= 255 && name.hasPrefix("nnn"))
        let refused = try await rig.service.request(
            .post, "/v1/jobs",
            body: #"{"kind": "download", "request": "data:,x", "configuration": {"destination": {"filename": "a/b"}}}"#)
        #expect(member(refused.json, "errors", "0", "pointer") == "/configuration/destination/filename")
    }
}
