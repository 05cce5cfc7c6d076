import FetchEngine

// The limiters that jobs are in.

extension JobSpec {
    /// The members of a job about its flow; the limits belong to the key and not to the job.
    package struct Flow: Sendable, Equatable {
        package static let maximumKeyLength = 256

        package let key: String

        package init?(key: String) {
            guard (1...Self.maximumKeyLength).contains(key.utf8.count), !key.unicodeScalars.contains("\0") else {
                return nil
            }
            self.key = key
        }
    }

    /// The limiters that a job of the tenant is in: it passes the gate of its flow first.
    ///
    /// - Parameter tries: How many of its attempts have failed before.
    package func limiters(of tenant: Tenant.ID, after tries: Int = 0) -> [Limiter.Address] {
        var limiters: [Limiter.Address] = []
        if let flow { limiters.append(Limiter.Address(tenant: tenant, kind: .flow, key: flow.key)) }
        if let host = hostLimiter(of: tenant, after: tries) { limiters.append(host) }
        return limiters
    }

    /// The limiter of the host that an attempt loads from; nil when its URL has none.
    package func hostLimiter(of tenant: Tenant.ID, after tries: Int = 0) -> Limiter.Address? {
        request.url(after: tries).hostAndPort.map { Limiter.Address(tenant: tenant, kind: .host, key: $0) }
    }
}

extension JobSpec.Flow {
    init?(reader: JSONReader) {
        guard let key = reader.object(of: ["key"])?.required("key"), let text = key.string() else { return nil }
        guard let flow = Self(key: text) else {
            key.refuse("must have 1 to \(Self.maximumKeyLength) bytes, none of them NUL")
            return nil
        }
        self = flow
    }
}

extension Limiter.Address {
    /// The limiter that a client names; nil when the text is neither a host, in any case, nor a key.
    package init?(tenant: Tenant.ID, kind: Limiter.Kind, name: String) {
        switch kind {
        case .flow:
            guard let flow = JobSpec.Flow(key: name) else { return nil }
            self.init(tenant: tenant, kind: kind, key: flow.key)
        case .host:
            guard name.utf8.count <= 255, let url = try? URLRecord("http://\(name)/"), let host = url.hostAndPort,
                url.description == "http://\(host)/"
            else { return nil }
            self.init(tenant: tenant, kind: kind, key: host)
        }
    }
}
