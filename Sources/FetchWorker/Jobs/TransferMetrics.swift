import FetchEngine
package import FetchJobs
package import FetchRuntime

/// Counts what loads do on the network: their phases, connections, TLS, cache and cookies.
package struct TransferMetrics: Sendable {
    /// The protocols that are counted by their names.
    private static let protocols = ["http/1.0", "http/1.1", "h2", "ftp", "data", "file"]
    private static let versions: Set<String> = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]

    private let transfers: (known: [String: Counter], other: Counter, none: Counter)
    private let connections: (new: Counter, reused: Counter, lost: Counter)
    private let handshakes: MetricFamily<Counter>
    private let resumptions: Counter
    private let phases: (dns: Histogram, connect: Histogram, tls: Histogram)
    private let exchange: (send: Histogram, wait: Histogram, receive: Histogram)
    private let redirects: Counter
    private let challenges: Counter
    private let verdicts: (hit: Counter, forward: [CacheStatus.Forward: Counter])
    private let stores: Counter
    private let cookies: (accepted: Counter, rejected: Counter)

    package init(_ registry: MetricsRegistry) {
        let loads = registry.counter(.transfers)
        transfers = (
            Dictionary(uniqueKeysWithValues: Self.protocols.map { ($0, loads[$0]) }), loads["other"], loads["none"]
        )
        let used = registry.counter(.connections)
        connections = (used["new"], used["reused"], used["lost"])
        handshakes = registry.counter(.tlsHandshakes)
        resumptions = registry.counter(.tlsResumptions)[]
        let phase = registry.histogram(.transferPhase)
        phases = (phase["dns"], phase["connect"], phase["tls"])
        exchange = (phase["send"], phase["wait"], phase["receive"])
        redirects = registry.counter(.redirects)[]
        challenges = registry.counter(.challenges)[]
        let judged = registry.counter(.cacheVerdicts)
        verdicts = (
            judged["hit"],
            Dictionary(uniqueKeysWithValues: CacheStatus.Forward.allCases.map { ($0, judged[$0.rawValue]) })
        )
        stores = registry.counter(.cacheStores)[]
        let taken = registry.counter(.cookies)
        cookies = (taken["accepted"], taken["rejected"])
    }

    /// Counts a load that is over.
    package func count(_ load: LoadObservation) {
        for transaction in load.transactions where transaction.resourceFetchType == .networkLoad { count(transaction) }
        redirects.add(load.redirects.count)
        challenges.add(load.challengeCount)
        if let status = load.cacheStatus {
            (status.forward.map { verdicts.forward[$0] } ?? verdicts.hit)?.add()
            if status.isStored { stores.add() }
        }
        let rejected = load.cookies.count { $0.rejection != nil }
        cookies.accepted.add(load.cookies.count - rejected)
        cookies.rejected.add(rejected)
    }

    private func count(_ transaction: TransactionMetrics) {
        let name = transaction.networkProtocolName
        (name.map { transfers.known[$0] ?? transfers.other } ?? transfers.none).add()
        if transaction.connectionWasLost { connections.lost.add() }
        if transaction.isReusedConnection {
            connections.reused.add()
        } else if transaction.connectEnd != nil {
            connections.new.add()
        }
        if transaction.secureConnectionEnd != nil {
            let version = transaction.negotiatedTLSProtocolVersion
            if transaction.tlsSessionWasResumed { resumptions.add() }
            handshakes[version.map { Self.versions.contains($0) ? $0 : "other" } ?? "unknown"].add()
        }
        observe(phases.dns, from: transaction.domainLookupStart, to: transaction.domainLookupEnd)
        observe(
            phases.connect, from: transaction.connectStart,
            to: transaction.secureConnectionStart ?? transaction.connectEnd)
        observe(phases.tls, from: transaction.secureConnectionStart, to: transaction.secureConnectionEnd)
        observe(exchange.send, from: transaction.requestStart, to: transaction.requestEnd)
        observe(exchange.wait, from: transaction.requestEnd, to: transaction.responseStart)
        observe(
            exchange.receive, from: transaction.responseStart,
            to: transaction.responseStart.map { max($0, transaction.responseEnd) })
    }

    private func observe(_ histogram: Histogram, from start: Duration?, to end: Duration?) {
        guard let start, let end, start <= end else { return }
        histogram.observe(end - start)
    }
}
