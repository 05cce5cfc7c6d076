import EventLoop
import Synchronization

/// Decides whether a load whose connection could not be made waits for the network (BEY-2).
struct Connectivity {
    private let waits: Bool
    /// How often no connection could be made.
    private(set) var attempts = 0

    init(_ configuration: SessionConfiguration) { waits = configuration.waitsForConnectivity }

    /// How long to wait before the next attempt; nil when the exchange did not fail for lack of a connection.
    mutating func delay(after exchange: any Exchange) -> Duration? {
        guard waits, exchange.response == nil, case .some(.some(let error)) = exchange.outcome,
            exchange.state.cancellation == nil, Self.codes.contains(error.code)
        else { return nil }
        attempts += 1
        return min(.milliseconds(250) * (1 << min(attempts - 1, 10)), .seconds(30))
    }

    private static let codes: Set<LoadError.Code> = [
        .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet,
    ]
}

extension Load {
    /// Waits before another attempt; the first time that is a step of the load, and the delegate is notified.
    func awaitConnectivity(for delay: Duration, isFirst: Bool, on loop: isolated TransferLoop) async throws(LoadError) {
        if isFirst {
            let url = currentRequest.url.withoutCredentials()
            record.withLock { $0.steps.append(.awaitedConnectivity(url)) }
            await client?.waitsForConnectivity()
        }
        var moment = MonotonicTime.now.advanced(by: delay)
        if let deadline { moment = min(moment, deadline) }
        await pause(until: moment, on: loop)
        try checkCancellation()
        if let deadline, deadline <= .now {
            throw LoadError(.timedOut, "There was no connection for as long as the resource may take.")
        }
    }
}
