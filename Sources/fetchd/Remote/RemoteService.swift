import ArgumentParser
import FetchAPI
import FetchEngine
import FetchJobs
import HTTPTypes

/// A running service, spoken with by its API.
struct RemoteService: Sendable {
    let base: String
    private let key: String?
    private let session: Session

    /// - Parameters:
    ///   - base: Its scheme, host and port.
    ///   - key: Who asks; nil for nobody, which few requests allow.
    init(base: String, key: String?) {
        self.base = base
        self.key = key
        var configuration = SessionConfiguration.ephemeral
        configuration.targetPolicy = .unrestricted
        // A key is for this service and nobody else.
        configuration.redirects.policy = .return
        configuration.httpAdditionalHeaders[.userAgent] = "fetchd/\(Fetchd.version)"
        // The longest wait that may be asked for, and some time.
        configuration.timeoutIntervalForRequest = .seconds(90)
        session = Session(configuration: configuration)
    }

    /// The path of a resource with a name, whatever characters that has.
    static func path(_ parts: String...) -> String { parts.map { "/\($0.percentEncoded)" }.joined() }

    /// The answer to a request, as JSON.
    ///
    /// - Throws: ``RemoteFailure`` when the service refuses, or cannot be reached.
    func ask(
        _ method: HTTPRequest.Method, _ path: String, query: [(String, String?)] = [], body: [UInt8]? = nil,
        prefer: String? = nil
    ) async throws(RemoteFailure) -> JSONValue {
        let request = try request(method, path, query, body, prefer)
        let (bytes, response): ([UInt8], Response)
        do throws(LoadError) { (bytes, response) = try await session.data(for: request) } catch {
            throw RemoteFailure(error, at: base)
        }
        guard (200..<300).contains(response.status.code) else {
            throw RemoteFailure(response.status.code, bytes, response.headerFields)
        }
        guard !bytes.isEmpty else { return .null }
        do throws(JSONParser.Failure) { return try JSONParser.parse(bytes) } catch {
            throw RemoteFailure(
                .unavailable, "\(base) answers \(path) with what is no JSON: is it a fetchd?")
        }
    }

    /// Reads an answer piece by piece, as it comes.
    func stream(
        _ path: String, query: [(String, String?)] = [], _ take: ([UInt8]) async throws -> Void
    ) async throws {
        let request = try request(.get, path, query, nil, nil)
        var configuration = session.configuration
        configuration.timeoutIntervalForResource = nil
        let task = session.dataTask(with: request, configuration: configuration)
        defer { task.cancel() }
        do {
            let response = try await task.response()
            guard (200..<300).contains(response.status.code) else {
                var bytes: [UInt8] = []
                for try await chunk in task.body { bytes += chunk }
                throw RemoteFailure(response.status.code, bytes, response.headerFields)
            }
            for try await chunk in task.body { try await take(chunk) }
        } catch let error as LoadError {
            throw RemoteFailure(error, at: base)
        }
    }

    /// All elements of a list, page by page, up to so many.
    func list(
        _ path: String, query: [(String, String?)] = [], limit: Int
    ) async throws(RemoteFailure) -> [JSONValue] {
        var elements: [JSONValue] = []
        var cursor: String?
        repeat {
            let page = min(limit - elements.count, 100)
            let answer = try await ask(
                .get, path, query: query + [("limit", "\(page)"), ("cursor", cursor)])
            elements += answer.member("data")?.elements ?? []
            cursor = answer.member("nextCursor")?.text
        } while cursor != nil && elements.count < limit
        return elements
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, _ query: [(String, String?)], _ body: [UInt8]?, _ prefer: String?
    ) throws(RemoteFailure) -> Request {
        let pairs = query.compactMap { name, value in
            value.map { "\(name.percentEncoded)=\($0.percentEncoded)" }
        }
        let url: URLRecord
        do { url = try URLRecord(base + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))) } catch {
            throw RemoteFailure(.usage, "\(path) is no path: \(error)")
        }
        var request = Request(url: url, method: method)
        if let key { request.headerFields[.authorization] = "Bearer \(key)" }
        if let body {
            request.body = .bytes(body)
            request.headerFields[.contentType] = "application/json"
        }
        if let prefer, let name = HTTPField.Name("Prefer") { request.headerFields[name] = prefer }
        return request
    }
}

/// Why the service did not do what it was asked for, with what to do about it.
struct RemoteFailure: Error, CustomStringConvertible {
    /// What a script can tell failures apart by.
    enum Kind: Int32, CaseIterable {
        /// The service refuses: what is asked for is not there, or not possible now.
        case refused = 1
        /// The request breaks a rule.
        case usage = 64
        /// The service cannot be reached, or is not able to answer now.
        case unavailable = 69
        /// The key is missing, wrong, or not for this.
        case forbidden = 77

        var meaning: String {
            switch self {
            case .refused: "the service refuses: it is not there, or not possible now"
            case .usage: "wrong usage, or a value that breaks a rule"
            case .unavailable: "the service cannot be reached, or cannot answer now"
            case .forbidden: "the API key is missing, wrong, or not for this"
            }
        }
    }

    let kind: Kind
    let description: String
    /// Somebody listens there, whatever came of it.
    let isConnected: Bool

    init(_ kind: Kind, _ description: String, isConnected: Bool = true) {
        self.kind = kind
        self.description = description
        self.isConnected = isConnected
    }

    init(_ error: LoadError, at base: String) {
        self.init(
            .unavailable,
            "\(base) cannot be reached: \(error.message)\nIs the service there? Say where by --url or FETCHD_URL.",
            isConnected: error.code != .cannotConnectToHost && error.code != .cannotFindHost)
    }

    /// A problem document (RFC 9457), or what stands in its place.
    init(_ status: Int, _ body: [UInt8], _ fields: HTTPFields) {
        let problem = try? JSONParser.parse(body)
        var lines = [
            (problem?.member("detail")?.text ?? problem?.member("title")?.text ?? "The service answers \(status).")
                + (problem?.member("code")?.text.map { " (\($0), \(status))" } ?? "")
        ]
        let errors = problem?.member("errors")?.elements ?? []
        // One alone is the detail.
        for error in errors.count > 1 ? errors : [] {
            let place = error.member("pointer")?.text ?? error.member("parameter")?.text
            lines.append("  " + (place.map { "\($0): " } ?? "") + (error.member("message")?.text ?? ""))
        }
        let kind: Kind
        switch status {
        case 401:
            kind = .forbidden
            lines.append("Set FETCHD_KEY, or give --key-file; \"fetchd keys create\" makes a key.")
        case 403:
            kind = .forbidden
            lines.append("The key may not do this; \"fetchd keys create --scope …\" makes one that may.")
        case 400, 413, 414, 415, 422: kind = .usage
        case 429, 500...599:
            kind = .unavailable
            if let wait = fields[.retryAfter] { lines.append("Try again in \(wait) s.") }
        default: kind = .refused
        }
        self.init(kind, lines.joined(separator: "\n"))
    }

    /// The exit codes of the commands, one a line.
    static var table: String {
        "  0   done\n"
            + Kind.allCases.map { kind in
                "  \(kind.rawValue)" + (kind.rawValue < 10 ? " " : "") + "  \(kind.meaning)"
            }.joined(separator: "\n") + "\n  78  a setting is wrong"
    }

    /// Runs a command, and prints its failure on standard error.
    static func reporting(_ body: () async throws -> Void) async throws {
        do { try await ExitError.reporting(body) } catch let failure as RemoteFailure {
            for line in failure.description.split(separator: "\n") {
                printError("fetchd: " + TerminalText.plain(String(line)))
            }
            throw ExitCode(failure.kind.rawValue)
        }
    }
}
