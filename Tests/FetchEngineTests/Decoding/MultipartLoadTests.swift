import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

@Suite(.timeLimit(.minutes(1))) struct MultipartLoadTests {
    private static let body =
        "--x\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\none\r\n--x\r\nContent-Type: image/jpeg\r\n\r\n"

    private static func answer(_ type: String, _ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n\(body)"
    }

    private func run(_ answer: String, cancelsAt cancelled: String? = nil) async throws -> [String] {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            // Small pieces, so that boundaries come cut.
            let bytes = Array(answer.utf8)
            for start in stride(from: 0, to: bytes.count, by: 7) {
                try connection.send(Array(bytes[start..<min(start + 7, bytes.count)]))
            }
        }
        let log = PartLog(cancelsAt: cancelled)
        await Session().dataTask(with: try Request(origin.url()), delegate: log).run()
        return log.events
    }

    // Proves: MPR-1, MPR-2, MPR-4, RSP-8, LIF-16, FN-24.
    @Test(arguments: ["two\r\n--x--\r\n", "two\r\n--x--", "two"])
    func `each part is a response with its type and length, and then its data`(end: String) async throws {
        let events = try await run(Self.answer("multipart/x-mixed-replace; boundary=x", Self.body + end))
        #expect(
            events == [
                "multipart/x-mixed-replace ?", "text/plain 3", "data one", "image/jpeg ?", "data two", "complete well",
            ])
    }

    // Proves: MPR-4, RSP-8.
    @Test func `length, count and progress start anew with each part`() async throws {
        let parts = ["one", String(repeating: "two", count: 100), "three"]
        let body = parts.map { "--x\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)\r\n" }.joined()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            for byte in Self.answer("multipart/x-mixed-replace; boundary=x", body + "--x--\r\n").utf8 {
                try connection.send([byte])
            }
        }
        let counter = PartCounter()
        let task = Session().dataTask(with: try Request(origin.url()), delegate: counter)
        await task.run()
        #expect(task.error == nil)
        #expect(counter.parts.map(\.expected) == [3, 300, 5])
        #expect(counter.parts.map(\.counts.first) == [0, 0, 0])
        #expect(counter.parts.map(\.fractions.first) == [0, 0, 0])
        #expect(counter.parts.map(\.counts.last) == [3, 300, 5])
        #expect(counter.parts.map(\.fractions.last) == [1, 1, 1])
        #expect(counter.parts.allSatisfy { $0.counts == $0.sums })
        #expect(task.metrics.transactions.first?.countOfResponseBodyBytesReceived == Int64(body.utf8.count + 7))
    }

    // Proves: MPR-5.
    @Test(arguments: ["multipart/byteranges", "multipart/mixed"])
    func `other multipart types are not split`(type: String) async throws {
        let events = try await run(Self.answer("\(type); boundary=x", "--x\r\n\r\none\r\n--x--"))
        #expect(events == ["\(type) ?", "data --x\r\n\r\none\r\n--x--", "complete well"])
    }

    // Proves: MPR-1, LIF-16.
    @Test func `a part can be answered with cancel`() async throws {
        let events = try await run(
            Self.answer("multipart/x-mixed-replace; boundary=x", Self.body + "two"), cancelsAt: "image/jpeg")
        #expect(events.suffix(2) == ["image/jpeg ?", "complete cancelled"])
    }

    // Proves: ERR-7, MPR-3.
    @Test func `a part whose head has no end fails the load`() async throws {
        let head = String(repeating: "x", count: 40_000)
        let events = try await run(Self.answer("multipart/x-mixed-replace; boundary=x", "--x\r\n\(head)"))
        #expect(events == ["multipart/x-mixed-replace ?", "complete badServerResponse"])
    }

    // Proves: MPR-1.
    @Test func `who awaits the body gets it as it came`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(Self.answer("multipart/x-mixed-replace; boundary=x", Self.body))
        }
        let (body, _) = try await Session().data(for: Request(origin.url()))
        #expect(body == Array(Self.body.utf8))
    }
}

/// Writes down responses and data; pieces of data that follow one another are one event.
private final class PartLog: TaskDelegate {
    private let cancelled: String?
    private let log = Mutex<[String]>([])

    init(cancelsAt cancelled: String?) { self.cancelled = cancelled }

    var events: [String] { log.withLock { $0 } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        let length = response.expectedContentLength.map { "\($0)" } ?? "?"
        log.withLock { $0.append("\(response.mimeType ?? "") \(length)") }
        return response.mimeType == cancelled ? .cancel : .allow
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async {
        let text = String(decoding: data, as: UTF8.self)
        log.withLock { events in
            if let last = events.last, last.hasPrefix("data ") {
                events[events.count - 1] = last + text
            } else {
                events.append("data " + text)
            }
        }
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        log.withLock { $0.append("complete \(error?.code.name ?? "well")") }
    }
}

/// Writes down how far each part is when it begins and after each of its bytes.
private final class PartCounter: TaskDelegate {
    struct Part {
        let expected: Int64?
        /// What the task says.
        var counts: [Int64] = []
        var fractions: [Double?] = []
        /// What has been delivered.
        var sums: [Int64] = []

        mutating func look(at task: SessionTask, adding count: Int) {
            counts.append(task.countOfBytesReceived)
            fractions.append(task.progress.fractionCompleted)
            sums.append((sums.last ?? 0) + Int64(count))
        }
    }

    private let log = Mutex<[Part]>([])

    var parts: [Part] { log.withLock { $0 } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        // The first response is that of the whole.
        guard response.mimeType != "multipart/x-mixed-replace" else { return .allow }
        var part = Part(expected: task.countOfBytesExpectedToReceive)
        part.look(at: task, adding: 0)
        log.withLock { $0.append(part) }
        return .allow
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async {
        log.withLock { $0[$0.count - 1].look(at: task, adding: data.count) }
    }
}
