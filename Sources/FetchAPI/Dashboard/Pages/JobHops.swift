import FetchJobs

/// The exchanges of a job's attempts with origins, as they were measured.
struct JobHops {
    /// One exchange.
    struct Hop {
        let title: String
        let url: String
        let status: String
        let facts: [Fact]
    }

    private static let maximumHops = 20

    /// The last ones.
    let hops: [Hop]

    /// - Parameter method: The method of the job's request.
    init(_ job: Job, method: String) {
        let redirects = JobDetailPage.parse(job.redirects)?.elements ?? []
        let last = job.attempts.last?.number
        hops = job.attempts.suffix(JobDetailPage.maximumAttempts)
            .flatMap { Self.hops(of: $0, method, $0.number == last ? redirects : []) }.suffix(Self.maximumHops)
    }

    private static func hops(of attempt: Job.Attempt, _ first: String, _ redirects: [JSONValue]) -> [Hop] {
        let metrics = JobDetailPage.parse(attempt.metrics)
        var method = first
        var targets = redirects.makeIterator()
        return zip(metrics?.elements ?? [], Waterfall(metrics: metrics).rows).enumerated().map { index, pair in
            let (transfer, row) = pair
            let status = transfer.member("status")?.integer
            defer {
                if let status, (300..<400).contains(status), let next = targets.next() {
                    method = next.member("method")?.text ?? method
                }
            }
            return Hop(
                title: "Attempt \(attempt.number), hop \(index + 1), \(Waterfall.show(row.end - row.start))",
                url: VisibleText.cut("\(method) \(transfer.member("url")?.text ?? "")"),
                status: status.map { "\($0)" } ?? "no response", facts: facts(of: transfer, row))
        }
    }

    /// The phases in numbers, then all that the engine measured beside them, in words.
    private static func facts(of transfer: JSONValue, _ row: Waterfall.Row) -> [Fact] {
        let phases = row.bars.map { Fact(name: $0.phase.title, value: Waterfall.show($0.end - $0.start)) }
        let drawn = Set(
            Waterfall.Phase.allCases.map(\.rawValue) + ["url", "status", "duration", "certificates", "cookies"])
        let cookies = (transfer.member("cookies")?.elements ?? []).map(\.shown).joined(separator: ", ")
        return phases + (cookies.isEmpty ? [] : [Fact(name: "Cookies sent", value: VisibleText.cut(cookies))])
            + JobDetailPage.members(transfer, without: drawn).map {
                Fact(name: names[$0.name] ?? $0.name, value: $0.value)
            }
    }

    /// The words for what the engine measures.
    private static let names = [
        "networkProtocolName": "Protocol", "remoteAddress": "Address", "remotePort": "Port",
        "isReusedConnection": "Connection reused", "connectionWasLost": "Connection lost", "fetchStart": "Started",
        "countOfRequestHeaderBytesSent": "Header bytes sent", "countOfRequestBodyBytesSent": "Body bytes sent",
        "countOfResponseHeaderBytesReceived": "Header bytes received",
        "countOfResponseBodyBytesReceived": "Body bytes received", "tlsProtocolVersion": "TLS version",
        "tlsCipherSuite": "TLS cipher suite",
    ]
}
