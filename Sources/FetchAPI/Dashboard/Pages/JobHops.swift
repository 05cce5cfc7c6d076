import FetchJobs

/// The exchanges of a job's attempts with origins, as they were measured.
struct JobHops {
    /// One exchange.
    struct Hop: MustacheParent {
        let title: String
        let url: String
        let status: String
        let facts: [Fact]

        func child(named name: String) -> Any? {
            switch name {
            case "title": title
            case "url": url
            case "status": status
            case "facts": Fact.markup(facts)
            default: nil
            }
        }
    }

    private static let maximumHops = 20

    /// The last ones.
    let hops: [Hop]

    /// - Parameters:
    ///   - attempts: The attempts whose exchanges are shown.
    ///   - method: The method of the job's request.
    init(_ job: Job, _ attempts: [MeasuredAttempt], method: String) {
        let redirects = JobDetailPage.parse(job.redirects)?.elements ?? []
        let last = job.attempts.last?.number
        var hops: [Hop] = []
        for attempt in attempts.reversed() where hops.count < Self.maximumHops {
            let followed = attempt.attempt.number == last ? redirects : []
            hops = Self.hops(of: attempt, method, followed).suffix(Self.maximumHops - hops.count) + hops
        }
        self.hops = hops
    }

    private static func hops(of attempt: MeasuredAttempt, _ first: String, _ redirects: [JSONValue]) -> [Hop] {
        var method = first
        var targets = redirects.makeIterator()
        return zip(attempt.transfers, attempt.waterfall.rows).enumerated().map { index, pair in
            let (transfer, row) = pair
            let status = transfer.member("status")?.integer
            defer {
                if let status, (300..<400).contains(status), let next = targets.next() {
                    method = next.member("method")?.text ?? method
                }
            }
            return Hop(
                title: "Attempt \(attempt.attempt.number), hop \(index + 1), \(Waterfall.show(row.end - row.start))",
                url: VisibleText.cut("\(method) \(transfer.member("url")?.text ?? "")"),
                status: status.map { "\($0)" } ?? "no response", facts: facts(of: transfer, row))
        }
    }

    /// The phases in numbers, then all that the engine measured beside them, in words.
    private static func facts(of transfer: JSONValue, _ row: Waterfall.Row) -> [Fact] {
        let phases = row.bars.map { Fact(name: $0.phase.title, value: Waterfall.show($0.end - $0.start)) }
        let cookies = (transfer.member("cookies")?.elements ?? []).map(\.shown).joined(separator: ", ")
        return phases + (cookies.isEmpty ? [] : [Fact(name: "Cookies sent", value: VisibleText.cut(cookies))])
            + JobDetailPage.members(transfer, without: drawn).map {
                Fact(name: names[$0.name] ?? $0.name, value: $0.value)
            } + fields("requestHeaders", "Sent", transfer) + fields("responseHeaders", "Received", transfer)
    }

    /// The fields that are on record, each with what became of it before its name.
    private static func fields(_ name: String, _ verb: String, _ transfer: JSONValue) -> [Fact] {
        JobDetailPage.headers(transfer, name).map { Fact(name: "\(verb) \($0.name)", value: $0.value) }
    }

    /// What is drawn, or shown elsewhere.
    private static let drawn = Set(
        Waterfall.Phase.allCases.map(\.rawValue) + [
            "url", "status", "duration", "certificates", "cookies", "requestHeaders", "responseHeaders",
        ])

    /// The words for what the engine measures.
    private static let names = [
        "networkProtocolName": "Protocol", "remoteAddress": "Address", "remotePort": "Port",
        "isReusedConnection": "Connection reused", "connectionWasLost": "Connection lost", "fetchStart": "Started",
        "countOfRequestHeaderBytesSent": "Header bytes sent", "countOfRequestBodyBytesSent": "Body bytes sent",
        "countOfResponseHeaderBytesReceived": "Header bytes received",
        "countOfResponseBodyBytesReceived": "Body bytes received", "tlsProtocolVersion": "TLS version",
        "tlsCipherSuite": "TLS cipher suite", "isProxyConnection": "By a proxy", "resourceFetchType": "Fetched from",
        "countOfRequestBodyBytesBeforeEncoding": "Body bytes before coding",
        "countOfResponseBodyBytesAfterDecoding": "Body bytes after decoding",
    ]
}
