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
