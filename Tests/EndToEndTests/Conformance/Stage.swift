import FetchEngine
import Synchronization
import TestSupport

/// An origin that many tests share: each plays its own answers, under a path that nobody else has.
final class Stage: Sendable {
    /// The responses that one test plays, and the requests that it got.
    final class Play: Sendable {
        /// A request as it came.
        struct Request: Sendable {
            let head: String
            let body: [UInt8]

            /// The first line.
            var line: String { String(head.prefix { $0 != "\r\n" }) }

            /// The values of a field, in their order.
            func values(_ name: String) -> [String] {
                head.split(separator: "\r\n").dropFirst().compactMap { line in
                    guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { return nil }
                    return String(line[line.index(after: colon)...].drop { $0 == " " })
                }
            }
        }

        fileprivate typealias Answer = @Sendable (Int, WireConnection) throws -> Void

        private let base: String
        private let log = Mutex<[Request]>([])
        private let answer: Answer

        fileprivate init(base: String, _ answer: @escaping Answer) {
            self.base = base
            self.answer = answer
        }

        /// The URL of a path of this play.
        func url(_ path: String = "") -> String { base + path }

        /// The requests that it got so far.
        var requests: [Request] { log.withLock { $0 } }

        fileprivate func run(_ head: String, _ connection: WireConnection) throws {
            let fields = Request(head: head, body: [])
            if !fields.values("expect").isEmpty { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
            let length = fields.values("content-length").first.flatMap { Int($0) } ?? 0
            let body =
                fields.values("transfer-encoding").isEmpty
                ? try connection.receive(length) : try connection.receiveChunked()
            let number = log.withLock { log in
                log.append(Request(head: head, body: body))
                return log.count - 1
            }
            try answer(number, connection)
        }
    }

    private final class Plays: Sendable {
        private let all = Mutex<[Substring: Play]>([:])

        subscript(name: Substring) -> Play? { all.withLock { $0[name] } }

        func add(at url: String, _ answer: @escaping Play.Answer) -> Play {
            all.withLock { all in
                let name = "p\(all.count)"
                let play = Play(base: "\(url)\(name)/", answer)
                all[name[...]] = play
                return play
            }
        }
    }

    private struct End: Error {}

    private let plays: Plays
    private let origin: WireOrigin

    init() throws {
        let plays = Plays()
        self.plays = plays
        origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let path = head.split(separator: " ", maxSplits: 2)[1]
                let name = path.split(separator: "/", maxSplits: 1).first?.prefix { $0 != "?" }
                guard let play = name.flatMap({ plays[$0] }) else { throw End() }
                try play.run(head, connection)
            }
        }
    }

    var port: UInt16 { origin.port }

    /// Plays one answer after the other, and the last one to all that follow.
    func play(_ answers: String...) -> Play { play(answers.map { Array($0.utf8) }) }

    /// The same with bytes.
    func play(_ answers: [[UInt8]]) -> Play {
        serve { number, connection in try connection.send(answers[min(number, answers.count - 1)]) }
    }

    /// Breaks the connection after so many bytes of an answer.
    func cut(_ answer: String = "") -> Play {
        serve { _, connection in
            try connection.send(answer)
            throw End()
        }
    }

    /// Answers each request in steps: the closure is given its number and the connection.
    func serve(_ answer: @escaping @Sendable (Int, WireConnection) throws -> Void) -> Play {
        plays.add(at: origin.url(), answer)
    }
}

/// A whole answer.
///
/// - Parameters:
///   - status: With its reason.
///   - fields: Such as `ETag: "a"`.
func answer(_ status: String = "200 OK", _ fields: String..., body: String = "") -> String {
    let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "", body]
    return lines.joined(separator: "\r\n")
}
