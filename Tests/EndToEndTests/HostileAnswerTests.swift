import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// One small answer is not to hold up the other jobs of a node.
@Suite(.timeLimit(.minutes(3)), .sharedService()) struct HostileAnswerTests {
    /// A response of an origin, and the job that asks for it.
    struct Answer: CustomTestStringConvertible {
        let name: String
        var path = ""
        /// Members of the job, and of its configuration.
        var job = ""
        var configuration = ""
        /// In addition to those that say how the body is sent.
        var fields = ""
        var body: @Sendable () throws -> [UInt8] = { [] }
        /// The body is chunked already.
        var isChunked = false

        var testDescription: String { name }
    }

    private static let zeros = [UInt8](repeating: 0, count: 9)

    private static let answers: [Answer] = [
        Answer(
            name: "parts without content in gzip",
            fields: "Content-Type: multipart/x-mixed-replace; boundary=b\r\nContent-Encoding: gzip\r\n",
            body: { try gzipped(repeating: "--b\r\n\r\n", 1_000_000) }),
        Answer(
            name: "parts of a few bytes in gzip", configuration: #", "response": {"multipartReplace": "all"}"#,
            fields: "Content-Type: multipart/x-mixed-replace; boundary=b\r\nContent-Encoding: gzip\r\n",
            body: { try gzipped(repeating: "--b\r\na: b\r\n\r\nx\r\n", 300_000) }),
        Answer(
            name: "parts of many fields in gzip", configuration: #", "response": {"multipartReplace": "all"}"#,
            fields: "Content-Type: multipart/x-mixed-replace; boundary=b\r\nContent-Encoding: gzip\r\n",
            body: {
                try gzipped(
                    repeating: "--b\r\n\(String(repeating: "a: b\r\n", count: 1_900))\r\nx\r\n", 1_000)
            }),
        Answer(
            name: "members without content in gzip", fields: "Content-Encoding: gzip, gzip\r\n",
            body: {
                try gzipped(
                    [UInt8](repeatElement([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3] + zeros, count: 500_000).joined()))
            }),
        Answer(
            name: "a bomb of gzip in gzip", fields: "Content-Encoding: gzip, gzip\r\n",
            body: { try gzipped(try gzipped([UInt8](repeating: 0, count: 64 << 20))) }),
        Answer(
            name: "a long file name",
            fields: "Content-Disposition: attachment; filename=\"\(String(repeating: "a", count: 90_000))\"\r\n"),
        Answer(
            name: "a long name of a download", job: #", "kind": "download""#,
            fields: "Content-Disposition: attachment; filename*=utf-8''"
                + "\(String(repeating: "%F0%9F%87%A6", count: 8_000))\r\n"),
        Answer(
            name: "a type of many parameters",
            fields: "Content-Type: text/plain\((0..<9_000).map { ";a\($0)=b" }.joined())\r\n"),
        Answer(
            name: "a challenge of many parameters",
            fields: "WWW-Authenticate: Digest realm=a, nonce=b, "
                + "domain=\"\(String(repeating: "/a ", count: 30_000))\"\r\n"),
        Answer(
            name: "many limits",
            fields: "RateLimit: \((0..<9_000).map { "\"a\($0)\";r=0;t=1" }.joined(separator: ","))\r\n"),
        Answer(name: "many fields", fields: (0..<1_900).map { "Set-Cookie: a\($0)=b; Path=/\r\n" }.joined()),
        Answer(name: "a long path", path: String(repeating: "a", count: 16_000)),
        Answer(name: "a path of many steps", path: String(repeating: "a/../", count: 3_200)),
        Answer(
            name: "long chunk extensions", fields: "Transfer-Encoding: chunked\r\n",
            body: {
                Array(
                    (String(repeating: "1;\(String(repeating: "a", count: 15_000))\r\nx\r\n", count: 200) + "0\r\n\r\n")
                        .utf8)
            }, isChunked: true),
        Answer(
            name: "many small chunks", fields: "Transfer-Encoding: chunked\r\n",
            body: { Array((String(repeating: "1\r\nx\r\n", count: 200_000) + "0\r\n\r\n").utf8) }, isChunked: true),
    ]

    // Proves: SEC-28, SEC-25.
    @Test(arguments: answers) func `no answer holds up the jobs of another tenant`(_ answer: Answer) async throws {
        let rig = try SharedService.current
        let service = rig.service
        let body = try answer.body()
        let hostile = rig.stage.serve { _, connection in
            let length = answer.isChunked ? "" : "Content-Length: \(body.count)\r\n"
            try connection.send("HTTP/1.1 200 OK\r\n\(length)\(answer.fields)\r\n")
            try connection.send(body)
        }
        let plain = rig.other.play(EndToEndTests.answer(body: "ok"))
        let other = try await rig.place.key(tenant: "other")
        let otherTenant: HTTPFields = [.prefer: "wait=30", .authorization: "Bearer \(other)"]
        let job =
            #"{"request": {"url": "\#(hostile.url(answer.path))"}\#(answer.job), "#
            + #""configuration": {"retry": {"maximumAttempts": 1}\#(answer.configuration)}}"#
        let before = Self.stalls(in: try await service.request(.get, "/metrics").text)
        let accepted = try await service.request(.post, "/v1/jobs", body: job)
        let id = try #require(member(accepted.json, "id", as: String.self), "\(accepted.text)")
        var jobs = 0
        repeat {
            let done = try await service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(plain.url())"}}"#, headers: otherTenant)
            #expect(member(done.json, "state") == "succeeded", "\(done.text)")
            jobs += 1
            try await Task.sleep(for: .milliseconds(50))
        } while try await !Self.isFinal(id, service) || jobs < 3
        let metrics = try await service.request(.get, "/metrics").text
        let stalls = Self.stalls(in: metrics)
        #expect(Set(stalls.keys).isSuperset(of: ["api", "fetchd-db", "fetchd-engine"]))
        #expect(stalls.allSatisfy { $1 == before[$0, default: 0] }, "\(before), \(stalls)")
    }

    private static func isFinal(_ id: String, _ service: ServiceProcess) async throws -> Bool {
        let job = try await service.request(.get, "/v1/jobs/\(id)").json
        return ["succeeded", "failed", "cancelled"].contains(member(job, "state", as: String.self) ?? "")
    }

    /// The loops that worked for longer than they may without a look at the others, and how often; other work of the
    /// machine is not in it.
    private static func stalls(in metrics: String) -> [String: Int] {
        let sample =
            #/
            fetchd_event_loop_stall_seconds_(?<kind>count|bucket)
            \{loop="(?<loop>[^"]+)",clock="worked"(?:,le="(?<bound>[^"]+)")?\}\ (?<count>\d+)
            /#
        var stalls: [String: Int] = [:]
        for found in metrics.matches(of: sample) {
            let (loop, count) = (String(found.loop), Int(found.count) ?? 0)
            if found.kind == "count" { stalls[loop, default: 0] += count }
            if found.bound.map({ $0 == limit }) ?? false { stalls[loop, default: 0] -= count }
        }
        return stalls
    }

    /// Code that was not optimized takes its time.
    private static var limit: String {
        #if DEBUG
            "0.5"
        #else
            "0.1"
        #endif
    }

    private static func gzipped(repeating text: String, _ count: Int) throws -> [UInt8] {
        try gzipped([UInt8](repeatElement(Array(text.utf8), count: count).joined()))
    }

    private static func gzipped(_ bytes: [UInt8]) throws -> [UInt8] {
        let plain = try TemporaryFile(bytes)
        let process = Process()
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["-9", "-c", plain.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let coded = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Array(coded)
    }
}
