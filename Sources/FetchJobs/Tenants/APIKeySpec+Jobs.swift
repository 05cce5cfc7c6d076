import FetchEngine

// What a key that is bound to a session or to hosts may do with jobs.

extension APIKeySpec {
    /// Whether the key sees only a part of what its tenant has.
    package var seesPart: Bool { session != nil || hosts != nil }

    /// Whether a stored job lies within the bounds of the key.
    package func covers(_ job: Job) -> Bool {
        guard seesPart else { return true }
        guard let spec = job.storedSpec else { return false }
        return (session.map { $0 == spec.session ?? .default } ?? true) && spec.request.urls.allSatisfy(covers)
    }

    private func covers(_ url: URLRecord) -> Bool {
        guard let hosts else { return true }
        guard let host = url.host, !host.isEmpty else { return false }
        return hosts.contains { $0.matches(host: host.lowercased(), port: url.effectivePort) }
    }

    /// Fits a submission to the bounds of the key.
    ///
    /// A job of a key that is bound to hosts loads from these alone: redirects lead to hosts that
    /// `redirects.allowedHosts` names, which is set where the job leaves it out, and nothing else of the job can lead
    /// to another host; its messages go there too, or to endpoints that the tenant has made.
    ///
    /// - Returns: The rules that it breaks.
    package func bind(_ job: inout JobSpec) -> [Violation] {
        var violations: [Violation] = []
        for index in job.callbacks.indices {
            let broken = JobCallback.placed(bind(&job.callbacks[index].job))
            violations += broken.prefixed(by: job.callbacks[index].pointer)
        }
        func refuse(_ pointer: String, _ message: String) {
            violations.append(Violation(pointer: pointer, message: message))
        }
        if let session, session != job.session ?? .default {
            refuse("/session", "must be \(session.name), as the key is bound to it")
        }
        guard let hosts else { return violations }
        let names = hosts.map(\.description).joined(separator: ", ")
        if !covers(job.request.url) { refuse("/request/url", "must be of a host that the key is bound to: \(names)") }
        for (index, mirror) in job.request.mirrors.enumerated() where !covers(mirror) {
            refuse("/request/mirrors/\(index)", "must be of a host that the key is bound to: \(names)")
        }
        if job.configuration.proxy != .init() {
            refuse("/configuration/proxy", "cannot be set with a key that is bound to hosts")
        }
        if !job.configuration.rules.isEmpty {
            refuse("/configuration/rules", "cannot be set with a key that is bound to hosts")
        }
        if job.configuration.delegate != .init() {
            refuse("/configuration/delegate", "cannot be set with a key that is bound to hosts")
        }
        if let url = job.webhook?.url, !covers(url) {
            refuse("/webhook/url", "must be of a host that the key is bound to: \(names)")
        }
        if let allowed = job.configuration.redirects.allowedHosts {
            for host in allowed.sorted() where !hosts.contains(where: { $0.coversEveryPort(of: host) }) {
                refuse("/configuration/redirects/allowedHosts", "has \(host), and the key is bound to \(names)")
            }
        } else {
            let own = job.request.urls.compactMap(\.host)
            let covered = own.filter { host in hosts.contains { $0.coversEveryPort(of: host) } }
            job.configuration.redirects.allowedHosts = Set(hosts.compactMap(\.wholeHost) + covered)
        }
        return violations
    }
}

extension HostPattern {
    /// Whether it matches a host at every port: what a redirect may lead to is known by its host alone.
    fileprivate func coversEveryPort(of host: String) -> Bool { matches(host: host, port: nil) }

    /// The host that it names, when it is one host at every port.
    fileprivate var wholeHost: String? {
        guard let host = (try? URLRecord("http://\(description)/"))?.host, !host.contains("*"),
            coversEveryPort(of: host),
            HostPattern(host) == self
        else { return nil }
        return host
    }
}
