import HTTPTypes
import Synchronization

@testable import FetchEngine

/// Stands in for the engine where a handler is tested alone: writes down its calls.
final class RecordingClient: ProtocolClient {
    struct Record: Sendable {
        var events: [String] = []
        var response: Response?
        var body: [UInt8] = []
    }

    let cachedResponse: CachedResponse?
    private let answer: Challenge.Disposition
    /// After so many calls the load counts as over.
    private let limit: Int
    private let state = Mutex(Record())

    init(
        cachedResponse: CachedResponse? = nil, answer: Challenge.Disposition = .performDefaultHandling,
        limit: Int = .max
    ) {
        self.cachedResponse = cachedResponse
        self.answer = answer
        self.limit = limit
    }

    var record: Record { state.withLock { $0 } }

    func received(_ response: Response, redirectingTo request: Request) async throws(LoadError) {
        try note("redirect \(request.url)") { $0.response = response }
    }

    func cachedResponseIsValid() async throws(LoadError) { try note("cached") }

    func received(_ response: Response, storagePolicy: CachedResponse.StoragePolicy) async throws(LoadError) {
        try note("response \(response.status.code)") { record in
            record.response = response
            record.body = []
        }
    }

    func received(_ data: [UInt8]) async throws(LoadError) { try note("data") { $0.body += data } }

    func received(_ challenge: Challenge) async throws(LoadError) -> Challenge.Disposition {
        try note("challenge")
        return answer
    }

    private func note(_ event: String, _ change: (inout Record) -> Void = { _ in }) throws(LoadError) {
        let isOver = state.withLock { record in
            guard record.events.count < limit else { return true }
            record.events.append(event)
            change(&record)
            return false
        }
        if isOver { throw LoadError(.cancelled, "The load is over.") }
    }
}
