import FetchEngine
import FetchJobs
import FetchRuntime
import FetchWorker
import HTTPTypes
import Testing

/// What metrics tell of loads.
@Suite struct TransferMetricsTests {
    private func transaction(_ change: (inout TransactionMetrics) -> Void) throws -> TransactionMetrics {
        var transaction = TransactionMetrics(url: try URLRecord("https://a.example/"))
        change(&transaction)
        return transaction
    }

    @Test func `phases, connections, TLS, cache and cookies of a load are counted`() throws {
        let registry = MetricsRegistry()
        let first = try transaction {
            ($0.domainLookupStart, $0.domainLookupEnd) = (.zero, .milliseconds(4))
            ($0.connectStart, $0.secureConnectionStart) = (.milliseconds(4), .milliseconds(10))
            ($0.secureConnectionEnd, $0.connectEnd) = (.milliseconds(30), .milliseconds(30))
            ($0.requestStart, $0.requestEnd) = (.milliseconds(30), .milliseconds(31))
            ($0.responseStart, $0.responseEnd) = (.milliseconds(131), .milliseconds(631))
            ($0.networkProtocolName, $0.negotiatedTLSProtocolVersion) = ("h2", "TLSv1.3")
            $0.tlsSessionWasResumed = true
        }
        let second = try transaction {
            $0.isReusedConnection = true
            $0.networkProtocolName = "quic/7"
            // A clock that went back must not count for less than nothing.
            ($0.responseStart, $0.responseEnd) = (.milliseconds(2), .milliseconds(1))
        }
        let cached = try transaction { $0.resourceFetchType = .localCache }
        var stored = CacheStatus(forward: .stale)
        stored.isStored = true
        let redirect = Redirect(
            url: first.url, status: .found, location: "/", target: first.url, method: .get)
        TransferMetrics(registry).count(
            LoadObservation(
                transactions: [first, second, cached], cacheStatus: stored, redirects: [redirect, redirect],
                challengeCount: 1))
        let text = registry.text
        for line in [
            #"fetchd_transfers_total{protocol="h2"} 1"#, #"fetchd_transfers_total{protocol="other"} 1"#,
            #"fetchd_connections_total{use="new"} 1"#, #"fetchd_connections_total{use="reused"} 1"#,
            #"fetchd_connections_total{use="lost"} 0"#, #"fetchd_tls_handshakes_total{version="TLSv1.3"} 1"#,
            #"fetchd_cache_verdicts_total{verdict="stale"} 1"#, "fetchd_cache_stores_total 1",
            "fetchd_tls_sessions_resumed_total 1", "fetchd_redirects_total 2",
            "fetchd_challenges_total 1", #"fetchd_cookies_total{verdict="accepted"} 0"#,
            #"fetchd_transfer_phase_seconds_sum{phase="dns"} 0.004"#,
            #"fetchd_transfer_phase_seconds_sum{phase="connect"} 0.006"#,
            #"fetchd_transfer_phase_seconds_sum{phase="tls"} 0.02"#,
            #"fetchd_transfer_phase_seconds_sum{phase="send"} 0.001"#,
            #"fetchd_transfer_phase_seconds_sum{phase="wait"} 0.1"#,
            #"fetchd_transfer_phase_seconds_sum{phase="receive"} 0.5"#,
            #"fetchd_transfer_phase_seconds_count{phase="receive"} 2"#,
        ] { #expect(text.contains("\n\(line)\n"), "\(line)") }
    }
}
