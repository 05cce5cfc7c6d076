import FetchEngine

/// How much of the service a tenant may have.
package struct TenantShare: Sendable, Equatable {
    package static let weights: ClosedRange<Int64> = 1...100

    package let tenant: Tenant
    /// How many jobs it is given in its turn, while others wait.
    package var weight: Int64
    /// Its own limits; for the others, the settings of the nodes hold.
    package var limits: TenantLimits
    package var isPaused: Bool
    package let createdAt: Timestamp

    package init(
        tenant: Tenant, weight: Int64 = 1, limits: TenantLimits = [:], isPaused: Bool = false,
        createdAt: Timestamp = .now
    ) {
        self.tenant = tenant
        self.weight = weight
        self.limits = limits
        self.isPaused = isPaused
        self.createdAt = createdAt
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("name", tenant.name)
        writer.member("weight", weight)
        limits.write(&writer)
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
    /// The limits that change.
    package var limits: [TenantLimit: Limit]

    package init(weight: Int64? = nil, limits: [TenantLimit: Limit] = [:]) {
        self.weight = weight
        self.limits = limits
    }

    /// What it changes, for the audit log.
    package var details: RawJSON {
        RawJSON(
            JSONWriter.object { writer in
                writer.member("weight", weight)
                for limit in TenantLimit.allCases { limits[limit]?.write(&writer, as: limit.rawValue) }
            })
    }

    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check)
            .object(of: Set(TenantLimit.allCases.map(\.rawValue)).union(["weight"]))
        weight = object?["weight"].flatMap { $0.value == .null ? 1 : $0.integer(in: TenantShare.weights) }
        limits = [:]
        for limit in TenantLimit.allCases {
            limits[limit] = object?[limit.rawValue].flatMap { Limit($0, in: limit.range) }
        }
        try check.finish()
    }
}
