import HTTPTypes
import Synchronization
import TestSupport

@testable import FetchEngine

/// An origin that plays an answer for each request and keeps the requests.
final class CachingOrigin: Sendable {
    private let origin: WireOrigin
    private let log = Log()

    private final class Log: Sendable {
        let heads = Mutex<[String]>([])
    }

    /// - Parameter answer: Gets the number of the request, from 1, and its head; nil closes the connection.
    init(_ answer: @escaping @Sendable (Int, String) -> String?) throws {
        let log = log
        origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if let length = head.field("Content-Length").flatMap({ Int($0) }) { try connection.receive(length) }
                let number = log.heads.withLock { heads in
                    heads.append(head)
                    return heads.count
                }
                guard let text = answer(number, head) else { return }
                try connection.send(text)
            }
        }
    }

    /// An origin that gives the same answer to everything.
    convenience init(_ lines: String..., body: String = "body") throws {
        let answer = Self.answer(200, lines, body: body)
        try self.init { _, _ in answer }
    }

    static func answer(_ code: Int, _ lines: [String], body: String = "") -> String {
        let length = code == 304 || code == 204 ? [] : ["Content-Length: \(body.utf8.count)"]
        return (["HTTP/1.1 \(code) X"] + lines + length + ["", body]).joined(separator: "\r\n")
    }

    var heads: [String] { log.heads.withLock { $0 } }
    var count: Int { heads.count }
    var port: UInt16 { origin.port }

    func request(_ path: String = "/", _ method: HTTPRequest.Method = .get, _ lines: String...) throws -> Request {
        Request(url: try URLRecord(origin.url(path)), method: method, headerFields: .init(lines: lines))
    }
}

extension String {
    /// The value of a field in a request head.
    func field(_ name: String) -> String? {
        split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { String($0.dropFirst(name.count + 1).trimmed) }
    }
}

extension Session {
    /// A session with a cache of its own in memory.
    static func caching(
        in cache: any ResponseCache = MemoryResponseCache(), delegate: (any SessionDelegate)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        change(&configuration)
        return Session(configuration: configuration, delegate: delegate)
    }

    /// The body as text, and the response.
    func text(_ request: Request, delegate: (any TaskDelegate)? = nil) async throws -> (String, Response) {
        let (body, response) = try await data(for: request, delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response)
    }
}
