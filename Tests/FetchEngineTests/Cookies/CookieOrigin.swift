import FetchEngine
import TestSupport

/// Answers each path with the status line and fields that the table has for it, on kept connections.
func cookieOrigin(_ answers: [String: String]) throws -> WireOrigin {
    try WireOrigin { connection in
        while let head = try connection.receiveHead() {
            let answer = answers[String(head.split(separator: " ")[1])] ?? "404 Not Found\r\n"
            try connection.send("HTTP/1.1 \(answer)Content-Length: 0\r\n\r\n")
        }
    }
}

/// The `Cookie` values of the requests that an origin has received, empty where there was none.
func cookies(at origin: WireOrigin) -> [String] {
    origin.connections.flatMap { connection in
        let text = String(decoding: connection.received, as: UTF8.self)
        return text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
            let line = head.components(separatedBy: "\r\n").first { $0.hasPrefix("Cookie: ") }
            return String(line?.dropFirst(8) ?? "")
        }
    }
}

/// A session with a storage, and both.
func cookieSession(
    _ change: (inout SessionConfiguration) -> Void = { _ in }
) -> (session: Session, storage: MemoryCookieStorage) {
    let storage = MemoryCookieStorage()
    var configuration = SessionConfiguration()
    configuration.httpCookieStorage = storage
    change(&configuration)
    return (Session(configuration: configuration), storage)
}

extension StringProtocol {
    fileprivate func components(separatedBy separator: String) -> [SubSequence] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
