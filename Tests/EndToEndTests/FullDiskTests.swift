import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// A service whose log or database has a disk without room.
@Suite(.timeLimit(.minutes(3)), .enabled(if: geteuid() == 0, "needs the right to mount a disk of its own (root)"))
struct FullDiskTests {
    /// A disk in memory.
    private struct Disk {
        let directory: String
        private var filler: String { "\(directory)/filler" }

        init(_ directory: String, megabytes: Int, _ options: String = "") throws {
            self.directory = directory
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try #require(mount("none", directory, "tmpfs", 0, "size=\(megabytes)m\(options)") == 0)
        }

        func fill() throws {
            let file = open(filler, O_WRONLY | O_CREAT, 0o600)
            try #require(file >= 0)
            let page = [UInt8](repeating: 0, count: 4096)
            while write(file, page, page.count) > 0 {}
            try #require(errno == ENOSPC)
            close(file)
        }

        func makeRoom() throws { try FileManager.default.removeItem(atPath: filler) }

        func unmount() { umount2(directory, Int32(MNT_DETACH)) }
    }

    // Proves: REL-9.
    @Test func `jobs go on while the disk of the log is full, and so does the log once it has room`() async throws {
        let port = try LoopbackServer.freePort()
        let settings = ["SERVER_PORT": "\(port)", "LOG_FORMAT": "json", "LOG_LEVEL": "info"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let key = try await place.key()
            let disk = try Disk("\(place.directory)/log", megabytes: 1)
            defer { disk.unmount() }
            let log = "\(disk.directory)/log"
            let service = try Program(
                ["/bin/sh", "-c", #"exec "$0" serve 2>>"$1""#, ServiceProcess.program, log],
                environment: place.environment)
            let session = Session(configuration: SessionConfiguration())
            func job() async throws -> [String: Any] {
                var request = Request(url: try URLRecord("http://127.0.0.1:\(port)/v1/jobs"), method: .post)
                request.headerFields = [
                    .authorization: "Bearer \(key)", .contentType: "application/json", .prefer: "wait=30",
                ]
                request.body = .bytes(Array(#"{"request": "data:,x"}"#.utf8))
                let (bytes, _) = try await session.data(for: request)
                return (try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
            }
            try await until { (try? await job()) != nil }
            try disk.fill()
            for _ in 0..<20 { #expect(member(try await job(), "state") == "succeeded") }
            try disk.makeRoom()
            let last = try #require(member(try await job(), "id", as: String.self))
            func lines() throws -> [Substring] {
                try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            }
            try await until { try lines().contains { $0.contains(last) } }
            service.send(SIGTERM)
            #expect(try await onThread { service.waitForEnd() } == 0)
            // The line that the room ended in.
            let torn = try lines().count { (try? JSONSerialization.jsonObject(with: Data($0.utf8))) == nil }
            #expect(torn <= 1)
        }
    }

    // Whatever PostgreSQL does without room: it refuses a statement, or it ends and cannot begin again.
    // Proves: REL-9.
    @Test func `while the disk of the database is full jobs are refused, and those that were accepted end well`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { outer in
            let place = outer.alone
            let user = try #require(getpwnam("postgres")).pointee
            let disk = try Disk(
                "\(place.directory)/postgres", megabytes: 300, ",uid=\(user.pw_uid),gid=\(user.pw_gid),mode=0700")
            defer { disk.unmount() }
            let service = try await ServiceProcess.start(place, key: try await place.run("keys", "create"))
            // Random, so that it takes as much room as it has bytes.
            let text = Data((0..<450_000).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            var accepted: [String] = []
            func submit() async throws -> ServiceProcess.Answer {
                let url = origin.url("/\(accepted.count)")
                let answer = try await service.request(
                    .post, "/v1/jobs",
                    body: #"{"request": {"url": "\#(url)", "method": "PUT", "body": {"text": "\#(text)"}}}"#)
                if answer.status == 202 { accepted.append(try #require(member(answer.json, "id"))) }
                return answer
            }
            #expect(try await submit().status == 202)
            try disk.fill()
            var refused: ServiceProcess.Answer?
            try await until {
                let answer = try await submit()
                if answer.status != 202 { refused = answer }
                return refused != nil
            }
            #expect(refused?.status == 503 && refused?.headers[.retryAfter] != nil, "\(refused?.text ?? "")")
            #expect(try await service.request(.get, "/healthz").status == 200)
            try disk.makeRoom()
            try await until { try await submit().status == 202 }
            for id in accepted {
                let job = try await service.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
                #expect(member(job, "state") == "succeeded", "\(job)")
            }
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }
}
