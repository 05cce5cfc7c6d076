import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// A service, the servers that its jobs meet, and the secrets that are planted in it.
struct CanaryScene: Sendable {
    let place: ServiceProcess.Place
    let service: ServiceProcess
    let canaries: Canaries
    /// What tenants may see of themselves, and operators may not: logs and metrics have none of it.
    let own: Canaries
    let origin: WireOrigin
    /// Where redirects lead, and webhooks.
    let other: WireOrigin

    /// Sends a request to the API, and keeps its answer for the search.
    @discardableResult
    func ask(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, headers: HTTPFields = [:],
        expecting statuses: ClosedRange<Int> = 200...299
    ) async throws -> ServiceProcess.Answer {
        let answer = try await service.request(method, path, body: body, headers: headers)
        #expect(statuses.contains(answer.status), "\(method) \(path): \(answer.text)")
        let fields = answer.headers.map { "\($0.name): \($0.value)\n" }.joined()
        let kept = path.prefix { $0 != "?" }.split(separator: "/").map { $0.contains("_") ? "id" : $0 }
        try canaries.keep(
            "\(fields)\n\(answer.text)", as: "\(method) /\(kept.joined(separator: "/")) \(UUID().uuidString)")
        return answer
    }

    /// Makes an object, and returns its id.
    func make(_ path: String, _ body: String, headers: HTTPFields = [:]) async throws -> String {
        try #require(member(try await ask(.post, path, body, headers: headers).json, "id"))
    }

    /// Submits a job, and returns its id.
    func submit(
        _ request: String, _ configuration: String = "", more: String = "", headers: HTTPFields = [:]
    ) async throws -> String {
        let retry = configuration.contains("\"retry\"") ? [] : [#""retry": {"maximumAttempts": 1}"#]
        let members = ([configuration] + retry).filter { !$0.isEmpty }.joined(separator: ", ")
        return try await make(
            "/v1/jobs", #"{"request": \#(request), "configuration": {\#(members)}\#(more)}"#, headers: headers)
    }

    /// Waits until a job has succeeded, so that its secret was used.
    func succeeding(_ job: String) async throws -> String {
        let end = try await service.end(of: job)
        #expect(member(end, "response", "status") == 200, "\(end)")
        return job
    }

    /// Text in a JSON string.
    static func json(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\n", with: "\\n")
    }

    // MARK: Servers

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// An origin that answers by the path of a request.
    static func origin(_ canaries: Canaries, redirectingTo other: WireOrigin) throws -> WireOrigin {
        let (cookie, password) = (canaries("Set-Cookie", isSent: false), canaries("Location", isSent: false))
        let answers = [
            "/fails": "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
            "/redirect": "HTTP/1.1 302 F\r\nLocation: \(other.url("/landed"))\r\nContent-Length: 0\r\n\r\n",
            "/location": "HTTP/1.1 301 M\r\nLocation: http://u:\(password)@127.0.0.1/x\r\nContent-Length: 0\r\n"
                + "Link: <http://u:\(password)@a.example/>; rel=next\r\n"
                + "Refresh: 0; url=http:u:\(password)@a.example\r\n\r\n",
            "/cookie": "HTTP/1.1 200 OK\r\nSet-Cookie: sid=\(cookie)\r\nContent-Length: 0\r\n\r\n",
            "/cached":
                "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=600\r\nVary: Authorization, X-API-Key, X-Own, Cookie"
                + "\r\nContent-Length: 0\r\n\r\n",
            "/download": "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-Length: 200000\r\n\r\n"
                + String(repeating: "x", count: 100_000),
            "/cut": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        ]
        return try serving { head, path in
            if let answer = answers[path] { return answer }
            guard let scheme = Self.challenges[path] else { return ok }
            return challenge(scheme, to: path == "/ntlm" ? "" : head)
        }
    }

    /// Asks who is there until a request says so.
    static func challenge(_ scheme: String, to head: String) -> String {
        head.lowercased().contains("\r\nauthorization: ")
            ? ok : "HTTP/1.1 401 Who\r\nWWW-Authenticate: \(scheme)\r\nContent-Length: 0\r\n\r\n"
    }

    private static let challenges = [
        "/basic": #"Basic realm="cave""#, "/bearer": #"Bearer realm="cave""#,
        "/ntlm": "NTLM",
        "/digest": #"Digest realm="cave", nonce="n", qop="auth", algorithm=SHA-256"#,
    ]

    /// A server that reads bodies, and answers by head and path; it closes the connection behind an answer cut short.
    static func serving(_ answer: @escaping @Sendable (String, String) -> String) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                let path = head.split(separator: " ")[1].prefix { $0 != "?" }
                try connection.send(answer(head, String(path)))
                if path == "/cut" || path == "/download" { return }
            }
        }
    }

    /// Keeps what servers were sent.
    func keepSent(_ servers: [WireOrigin]) throws {
        for server in servers {
            for (number, connection) in server.connections.enumerated() {
                try canaries.keep(sent: connection.received, as: "\(server.port)-\(number)")
            }
        }
    }
}
