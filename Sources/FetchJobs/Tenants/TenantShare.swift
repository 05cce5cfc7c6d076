import FetchEngine

/// How much of the service a tenant may have.
package struct TenantShare: Sendable, Equatable {
    package static let weights: ClosedRange<Int64> = 1...100
    package static let quotas: ClosedRange<Int64> = 1...1_000_000_000

    package let tenant: Tenant
    /// How many jobs it is given in its turn, while others wait.
    package var weight: Int64
    /// How many of its jobs may wait; nil for the setting of the nodes.
    package var maximumWaitingJobs: Int64?
    /// How many bytes of bodies a second its jobs may move in each direction, on all nodes; nil for any number.
    package var maximumBytesPerSecond: Int64?
    package var isPaused: Bool
    package let createdAt: Timestamp

    package init(
        tenant: Tenant, weight: Int64 = 1, maximumWaitingJobs: Int64? = nil, maximumBytesPerSecond: Int64? = nil,
        isPaused: Bool = false, createdAt: Timestamp = .now
    ) {
        self.tenant = tenant
        self.weight = weight
        self.maximumWaitingJobs = maximumWaitingJobs
        self.maximumBytesPerSecond = maximumBytesPerSecond
        self.isPaused = isPaused
        self.createdAt = createdAt
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("name", tenant.name)
        writer.member("weight", weight)
        writer.member("maximumWaitingJobs", maximumWaitingJobs)
        writer.member("maximumBytesPerSecond", maximumBytesPerSecond)
        writer.member("paused", isPaused)
        writer.member("createdAt", createdAt.description)
    }
}

/// A change of a tenant's share, as a merge patch (RFC 7396): null sets the value of new tenants.
package struct TenantChange: Sendable, Equatable {
    package enum Limit: Sendable, Equatable {
        /// The value of new tenants.
        case standard
        case own(Int64)

        /// Nil for the setting of tenants that have none of their own.
        package var number: Int64? { if case .own(let number) = self { number } else { nil } }

        fileprivate func write(_ writer: inout JSONWriter, as name: String) {
            writer.name(name)
            if let number { writer.value(number) } else { writer.null() }
        }

        fileprivate init?(_ reader: JSONReader, in range: ClosedRange<Int64>) {
            if reader.value == .null {
                self = .standard
            } else {
                guard let number = reader.integer(in: range) else { return nil }
                self = .own(number)
            }
        }
    }

    /// One of ``TenantShare/weights``; nil when it stays.
    package var weight: Int64?
    /// One of ``TenantShare/quotas``; nil when it stays.
    package var maximumWaitingJobs: Limit?
    /// Nil when it stays.
    package var maximumBytesPerSecond: Limit?

    package init(weight: Int64? = nil, maximumWaitingJobs: Limit? = nil) {
        self.weight = weight
        self.maximumWaitingJobs = maximumWaitingJobs
    }

    /// What it changes, for the audit log.
    package var details: RawJSON {
        RawJSON(
            JSONWriter.object { writer in
                writer.member("weight", weight)
                maximumWaitingJobs?.write(&writer, as: "maximumWaitingJobs")
                maximumBytesPerSecond?.write(&writer, as: "maximumBytesPerSecond")
            })
    }

    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check)
            .object(of: ["weight", "maximumWaitingJobs", "maximumBytesPerSecond"])
        weight = object?["weight"].flatMap { $0.value == .null ? 1 : $0.integer(in: TenantShare.weights) }
        maximumWaitingJobs = object?["maximumWaitingJobs"].flatMap { Limit($0, in: TenantShare.quotas) }
        maximumBytesPerSecond = object?["maximumBytesPerSecond"].flatMap { Limit($0, in: Bandwidth.settable) }
        try check.finish()
    }
}
