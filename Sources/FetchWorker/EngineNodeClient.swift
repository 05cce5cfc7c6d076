package import FetchEngine
package import FetchJobs
import Synchronization

/// Asks other nodes over the engine.
package final class EngineNodeClient: NodeClient {
    private let current: Mutex<Session>

    /// - Parameter session: Made with ``sessionConfiguration``.
    package init(session: Session) { current = Mutex(session) }

    private var session: Session { current.withLock { $0 } }

    /// Asks over another session from now on; what is under way stays with the one before.
    package func use(_ session: Session) { current.withLock { $0 = session } }

    /// The configuration of requests: the other node is to answer, and nothing is added to its response or left out.
    package static var sessionConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.redirects.policy = .return
        configuration.removeStorages()
        configuration.automaticallyDecodesContent = false
        configuration.expectContinue = .never
        configuration.connectTimeout = .seconds(2)
        // Each client that follows a job of another node has a connection of its own.
        configuration.httpMaximumConnectionsPerHost = 10_000
        configuration.timeoutIntervalForResource = nil
        // The other node has stored its address itself: it may be inside the network that jobs may not reach.
        configuration.targetPolicy = .unrestricted
        return configuration
    }

    package func send(_ request: NodeRequest, to url: String) async throws -> NodeAnswer {
        do {
            var message = Request(
                url: try URLRecord(url + request.target), method: request.method, headerFields: request.headers)
            message.timeoutInterval = request.patience
            guard let body = request.body else { return try await read(message) }
            return try await upload(message, body)
        } catch {
            try Task.checkCancellation()
            throw NodeUnreachable(underlying: error)
        }
    }

    private func read(_ message: Request) async throws -> NodeAnswer {
        let (body, response) = try await session.bytes(for: message)
        let reader = AnswerReader(body)
        return NodeAnswer(status: response.status, headers: response.headerFields) { try await reader.next() }
    }

    private func upload(_ message: Request, _ body: @escaping NodeRequest.Body) async throws -> NodeAnswer {
        let pipe = BodyPipe()
        var message = message
        message.body = .stream(pipe)
        let (bytes, response) = try await withThrowingTaskGroup(of: Void.self) { [message] group in
            group.addTask {
                do {
                    try await body { try await pipe.write($0) }
                    pipe.finish()
                } catch {
                    // The load fails with it, or has ended before.
                    pipe.fail()
                }
            }
            // An answer before the body's end means that the rest is not wanted.
            defer { group.cancelAll() }
            return try await session.data(for: message)
        }
        let reader = AnswerReader(bytes)
        return NodeAnswer(status: response.status, headers: response.headerFields) { try await reader.next() }
    }
}

/// Reads a response for its callers, one after the other.
private actor AnswerReader {
    private var whole: [UInt8]?
    private var rest: ResponseBody.Iterator?

    init(_ bytes: [UInt8]) { whole = bytes.isEmpty ? nil : bytes }

    init(_ body: ResponseBody) { rest = body.makeAsyncIterator() }

    func next() async throws -> [UInt8]? {
        if let bytes = whole.take() { return bytes }
        guard var iterator = rest else { return nil }
        do {
            let bytes = try await iterator.next(isolation: self)
            rest = iterator
            return bytes
        } catch {
            try Task.checkCancellation()
            throw NodeUnreachable(underlying: error)
        }
    }
}
