import FetchEngine
import FetchdClient
import Foundation
import Synchronization
import TestSupport

/// Plays the answers of a service, one to each request whatever its connection, and keeps what came.
final class ServiceOrigin: Sendable {
    /// The answer that breaks the connection in place of one.
    static let nothing = ""

    private let origin: WireOrigin
    private let requests: Requests

    private final class Requests: Sendable {
        let heads = Mutex<[String]>([])
    }

    /// - Parameter answers: Whole messages; after the last one nothing is answered any more. One that says
    ///   `Connection: close` ends with its connection.
    init(_ answers: String...) throws {
        let requests = Requests()
        self.requests = requests
        origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = String(decoding: try connection.receive(length), as: UTF8.self)
                let index = requests.heads.withLock { heads in
                    heads.append(head + body)
                    return heads.count - 1
                }
                guard index < answers.count, answers[index] != Self.nothing else { return }
                try connection.send(answers[index])
                if answers[index].contains("Connection: close") { return }
            }
        }
    }

    /// The requests so far, each with its body.
    var heads: [String] { requests.heads.withLock { $0 } }

    var service: FetchdService { FetchdService(url: origin.url(), key: APIKey("fk_secret")) }

    /// The values of a field in all requests.
    func values(of field: String) -> [String] {
        heads.map { head in
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(field.lowercased()): ") }
            return line.map { String($0.dropFirst(field.count + 2)) } ?? ""
        }
    }
}

/// A whole answer.
func answer(_ status: String, _ body: String = "", _ fields: String...) -> String {
    let lines = fields.map { "\($0)\r\n" }.joined()
    return "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n\(body)"
}
