import FetchEngine

/// Jobs of a tenant that share limits: those for one host, or those of one flow.
package struct Limiter: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Jobs whose request is for the host; where redirects lead does not count.
        case host
        /// Jobs that name the flow.
        case flow
    }

    /// Which limiter of which tenant.
    package struct Address: Sendable, Hashable {
        package let tenant: Tenant.ID
        package let kind: Kind
        /// The host as URLs write it, with its port where that is not the scheme's own, or the flow's key.
        package let key: String

        package init(tenant: Tenant.ID, kind: Kind, key: String) {
            self.tenant = tenant
            self.kind = kind
            self.key = key
        }
    }

    package let address: Address
    package var limits: SharedLimits
    /// No job of it is started.
    package var isPaused = false
    /// Its origin asked for patience, and has not answered well since.
    package var openCircuit: OpenCircuit?
    /// How many of its jobs wait to be let through, as far as they have come up.
    package var waiting: Int64 = 0
    /// How many of its jobs run, on all nodes.
    package var running: Int64 = 0
    /// The failed job that holds up the others.
    package var blockedBy: Job.ID?
    /// How many of its jobs started in the period of its rate that runs, and when that began; nil where none did.
    package var started: Int64 = 0
    package var periodBegan: Timestamp?
    /// When something was set for it first, and last; nil where that is not kept.
    package var createdAt: Timestamp?
    package var updatedAt: Timestamp?

    package struct OpenCircuit: Sendable, Equatable {
        package let until: Timestamp
        package let reason: String

        package init(until: Timestamp, reason: String) {
            self.until = until
            self.reason = reason
        }
    }

    /// Whether its jobs are started, as far as its origin's answers decide.
    package enum Circuit: String, Sendable, CaseIterable {
        /// They are.
        case closed
        /// None is: the origin asked for that.
        case open
        /// One at a time is, until the origin answers well.
        case halfOpen
    }

    package var circuit: Circuit { openCircuit.map { $0.until > .now ? .open : .halfOpen } ?? .closed }

    package init(address: Address, limits: SharedLimits = SharedLimits()) {
        self.address = address
        self.limits = limits
    }
}

/// The limits that a client sets.
package struct SharedLimits: Sendable, Equatable {
    package struct Rate: Sendable, Equatable {
        package let jobs: Int
        package let period: Duration

        package init(jobs: Int, period: Duration) {
            self.jobs = jobs
            self.period = period
        }
    }

    package enum Order: String, Sendable, CaseIterable {
        /// By priority, then as they came.
        case any
        /// One after the other, as they came.
        case fifo
    }

    package enum FailureRule: String, Sendable, CaseIterable {
        /// The next job goes on.
        case skip
        /// No other job is started until the failed one is tried again with success, or removed.
        case block
    }

    /// A limit that only who sets limits changes, and no job that brings limits along.
    package enum Pin: String, Sendable, CaseIterable {
        /// How many run at once, and in which order.
        case parallelism
        case rate
    }

    /// How many of its jobs run at once, on all nodes; nil for any number.
    package var parallelism: Int?
    /// How many of its jobs start in any time of some length; nil for any number.
    package var rate: Rate?
    package var order = Order.any
    package var onFailure = FailureRule.skip
    /// How many bytes of bodies a second its jobs may move in each direction, on all nodes; nil for any number.
    package var maximumBytesPerSecond: Int64?
    /// Those that jobs do not change.
    package var pinned: Set<Pin> = []

    package init() {}

    /// The limits that a job brings along, less those that are pinned.
    package func keepingPinned(of existing: SharedLimits?) -> SharedLimits {
        guard let existing, !existing.pinned.isEmpty else { return self }
        var limits = self
        limits.pinned = existing.pinned
        if existing.pinned.contains(.rate) { limits.rate = existing.rate }
        if existing.pinned.contains(.parallelism) {
            limits.parallelism = existing.parallelism
            (limits.order, limits.onFailure) = (existing.order, existing.onFailure)
        }
        return limits
    }

    /// Reads and checks the limits that a client sets.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue, of kind: Limiter.Kind) throws(InvalidInput) {
        let check = InputCheck()
        var names: Set = ["parallelism", "rate", "maximumBytesPerSecond"]
        if kind == .flow { names.formUnion(["order", "onFailure", "pinned"]) }
        if let object = JSONReader(json, check: check).object(of: names) {
            parallelism = object["parallelism"]?.integer(in: 1...Int64(Self.maximumJobs)).map { Int($0) }
            rate = object["rate"].flatMap { Rate(reader: $0) }
            maximumBytesPerSecond = object["maximumBytesPerSecond"]?.integer(in: Bandwidth.settable)
            order = object["order"]?.oneOf(Order.self) ?? .any
            onFailure = object["onFailure"]?.oneOf(FailureRule.self) ?? .skip
            pinned = Set(
                object["pinned"]?.array(maximum: Pin.allCases.count)?.compactMap { $0.oneOf(Pin.self) } ?? [])
            if order == .fifo, parallelism != nil {
                object["parallelism"]?.refuse("cannot be set beside the order fifo, which is one job after the other")
            }
            if onFailure == .block, order != .fifo {
                object["onFailure"]?.refuse("can be block only beside the order fifo")
            }
        }
        try check.finish()
    }

    package static let maximumJobs = 100_000
}

extension SharedLimits.Rate {
    package static let maximumJobs = 10_000
    /// In seconds.
    package static let longestPeriod = 604_800

    fileprivate init?(reader: JSONReader) {
        guard let object = reader.object(of: ["jobs", "period"]) else { return nil }
        let jobs = object.required("jobs")?.integer(in: 1...Int64(Self.maximumJobs))
        let period = object.required("period")?.seconds(in: 0.001...Double(Self.longestPeriod))
        guard let jobs, let period else { return nil }
        self.init(jobs: Int(jobs), period: period)
    }
}

extension Limiter {
    package func write(_ writer: inout JSONWriter) {
        writer.member(address.kind == .host ? "host" : "key", address.key)
        writer.member("parallelism", limits.parallelism)
        if let rate = limits.rate {
            writer.member(
                "rate",
                object: { writer in
                    writer.member("jobs", rate.jobs)
                    writer.member("period", rate.period.seconds)
                })
        }
        writer.member("maximumBytesPerSecond", limits.maximumBytesPerSecond)
        if address.kind == .flow {
            writer.member("order", limits.order.rawValue)
            writer.member("onFailure", limits.onFailure.rawValue)
            let pinned = SharedLimits.Pin.allCases.filter(limits.pinned.contains)
            if !pinned.isEmpty {
                writer.member("pinned", array: { writer in for pin in pinned { writer.value(pin.rawValue) } })
            }
            writer.member("blockedBy", blockedBy?.description)
        }
        writer.member("paused", isPaused)
        writer.member("waiting", waiting)
        writer.member("running", running)
        if address.kind == .host { writer.member("circuit", circuit.rawValue) }
        if let circuit = openCircuit {
            writer.member("circuitOpenUntil", circuit.until.description)
            writer.member("circuitReason", circuit.reason)
        }
    }
}
