import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The memory that the answers of one hostile origin take, at most.
@Suite(.timeLimit(.minutes(3)), .sharedService()) struct HostileMemoryTests {
    struct Answer: CustomTestStringConvertible {
        let name: String
        let start: String
        let again: String
        var configuration = ""
        let error: String

        var testDescription: String { name }
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let limited = #""response": {"maximumBytes": 100000}"#
    private static let hasty = #""timeouts": {"timeoutIntervalForRequest": 1}"#

    private static let answers: [Answer] = [
        Answer(
            name: "a head", start: "HTTP/1.1 200 OK\r\n", again: "X-Filler: 0123456789\r\n",
            error: "dataLengthExceedsMaximum"),
        Answer(
            name: "informational answers", start: "", again: "HTTP/1.1 103 Early Hints\r\n\r\n",
            error: "dataLengthExceedsMaximum"),
        Answer(
            name: "trailers", start: chunked + "0\r\n", again: "X-Filler: 0123456789\r\n",
            error: "dataLengthExceedsMaximum"),
        Answer(name: "a chunk extension", start: chunked + "5;a=", again: "a", configuration: hasty, error: "timedOut"),
        Answer(
            name: "a body", start: "HTTP/1.1 200 OK\r\n\r\n", again: "0123456789", configuration: limited,
            error: "dataLengthExceedsMaximum"),
        Answer(
            name: "a body of chunks", start: chunked, again: "a\r\n0123456789\r\n", configuration: limited,
            error: "dataLengthExceedsMaximum"),
    ]

    // Proves: SEC-24.
    @Test(arguments: answers) func `what does not end takes no more than eight mebibytes`(_ answer: Answer) async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in
            try connection.send(answer.start)
            let filler = Array(String(repeating: answer.again, count: 4000).utf8)
            // Until the client has closed the connection.
            while true { try connection.send(filler) }
        }
        let session = try await rig.makeSession()
        // What a first job needs, and threads and pools that only begin with some.
        for _ in 0..<10 { _ = try await rig.fetch(play.url(), configuration: answer.configuration, session: session) }
        let before = try rig.service.residentBytes
        try rig.service.forgetPeakOfMemory()
        let job = try await rig.fetch(play.url(), configuration: answer.configuration, session: session)
        #expect(errorName(of: job) == answer.error, "\(job)")
        let peak = try rig.service.peakOfMemory
        #expect(peak - before <= 8 << 20, "\(answer.name): \((peak - before) >> 10) KiB")
    }
}
