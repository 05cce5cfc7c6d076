import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// Flow control keys: flows, whose limits messages set.
struct QStashFlowRoutes: Sendable {
    private static let maximumBody = 65_536
    /// In bytes: what the key of a flow has room for.
    private static let maximumKey = 256 - QStashMessage.flow(ofKey: "").utf8.count

    let limiters: any LimiterStore
    let tenantLimits: KnownTenantLimits

    var routes: [Route] {
        [
            Route(.get, "/v2/flowControl", tenant: list),
            Route(.get, "/v2/flowControl/{key}", tenant: get),
            Route(.post, "/v2/flowControl/{key}/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.post, "/v2/flowControl/{key}/resume", tenant: { try await setPaused(false, $0, $1) }),
            Route(.post, "/v2/flowControl/{key}/pin", tenant: pin),
            Route(.post, "/v2/flowControl/{key}/unpin", tenant: unpin),
            Route(.post, "/v2/flowControl/{key}/resetRate", tenant: resetRate),
            Route(.get, "/v2/globalParallelism", tenant: parallelism),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let found = try await limiters.flows(of: tenant, beginning: QStashMessage.flow(ofKey: ""))
        var writer = JSONWriter()
        writer.array { writer in for flow in found { writer.object { Self.write(flow, &$0) } } }
        return .json(writer.bytes)
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let flow = try await flow(call, tenant)
        return .json { Self.write(flow, &$0) }
    }

    private func setPaused(_ isPaused: Bool, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        try await limiters.setPaused(isPaused, try await flow(call, tenant).address)
        return .json { _ in }
    }

    /// Sets limits that messages do not change; of a key that no message has named too.
    private func pin(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        let parameters = try Parameters(call, ["parallelism", "rate", "period"])
        let address = try address(call, tenant)
        var limits = try await limiters.limiter(address)?.limits ?? SharedLimits()
        if let parallelism = try parameters.integer("parallelism", in: 1...SharedLimits.maximumJobs) {
            (limits.parallelism, limits.order, limits.onFailure) = (parallelism, .any, .skip)
            limits.pinned.insert(.parallelism)
        }
        let period = try parameters.integer("period", in: 1...SharedLimits.Rate.longestPeriod)
        if let jobs = try parameters.integer("rate", in: 1...SharedLimits.Rate.maximumJobs) {
            limits.rate = SharedLimits.Rate(jobs: jobs, period: .seconds(period ?? 1))
            limits.pinned.insert(.rate)
        } else if period != nil {
            throw Problem(parameter: "period", "needs a rate")
        }
        try await limiters.set(limits, of: address)
        return .json { _ in }
    }

    /// Has messages change limits again, which stay until one does.
    private func unpin(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        let parameters = try Parameters(call, SharedLimits.Pin.allCases.map(\.rawValue))
        var flow = try await flow(call, tenant)
        for pin in SharedLimits.Pin.allCases where try parameters.isTrue(pin.rawValue) {
            flow.limits.pinned.remove(pin)
        }
        try await limiters.set(flow.limits, of: flow.address)
        return .json { _ in }
    }

    private func resetRate(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        try await limiters.resetRate(of: try await flow(call, tenant).address)
        return .json { _ in }
    }

    /// All jobs of the tenant count, as they share what it may have.
    private func parallelism(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let queue = try await limiters.queue(of: tenant)
        let maximum = tenantLimits[.maximumRunningJobs, tenant]
        return .json { writer in
            writer.member("parallelismMax", maximum ?? 0)
            writer.member("parallelismCount", queue.running)
        }
    }

    private func address(_ call: Call, _ tenant: Tenant.ID) throws(Problem) -> Limiter.Address {
        let key = call.decodedParameter
        guard (1...Self.maximumKey).contains(key.utf8.count) else {
            throw Problem(.invalidParameter, "A flow control key has 1 to \(Self.maximumKey) bytes.")
        }
        return Limiter.Address(tenant: tenant, kind: .flow, key: QStashMessage.flow(ofKey: key))
    }

    private func flow(_ call: Call, _ tenant: Tenant.ID) async throws -> Limiter {
        guard let flow = try await limiters.limiter(try address(call, tenant)) else {
            throw Problem(.notFound, "No message has set limits for this flow control key.")
        }
        return flow
    }

    private static func write(_ flow: Limiter, _ writer: inout JSONWriter) {
        writer.member("flowControlKey", String(flow.address.key.dropFirst(QStashMessage.flow(ofKey: "").count)))
        writer.member("waitListSize", flow.waiting)
        writer.member("parallelismMax", flow.limits.parallelism ?? (flow.limits.order == .fifo ? 1 : 0))
        writer.member("parallelismCount", flow.running)
        writer.member("rateMax", flow.limits.rate?.jobs ?? 0)
        // A period is told in whole seconds.
        writer.member("ratePeriod", flow.limits.rate.map { Int64($0.period.seconds.rounded(.up)) } ?? 0)
        writer.member("rateCount", flow.started)
        writer.member("ratePeriodStart", flow.periodBegan.map { $0.microseconds / 1_000_000 })
        writer.member("isPaused", flow.isPaused)
        writer.member("isPinnedParallelism", flow.limits.pinned.contains(.parallelism))
        writer.member("isPinnedRate", flow.limits.pinned.contains(.rate))
    }
}

extension QStashFlowRoutes {
    /// What a request says about limits, of which it has to name one.
    private struct Parameters {
        private let values: [String: String]

        init(_ call: Call, _ names: [String]) throws(Problem) {
            let query = RawQuery(call.request.uri.query)
            if let unknown = query.items.first(where: { !names.contains($0.name) && $0.name != "qstash_token" }) {
                throw Problem(parameter: unknown.name, "is not a parameter that is known here")
            }
            values = Dictionary(query.items.map { ($0.name, $0.value) }) { first, _ in first }
                .filter { names.contains($0.key) }
            guard !values.isEmpty else {
                throw Problem(.invalidParameter, "One of the parameters \(names.joined(separator: ", ")) is needed.")
            }
        }

        func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
            guard let text = values[name] else { return nil }
            guard let value = Int(text), range.contains(value) else {
                throw Problem(
                    parameter: name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }

        func isTrue(_ name: String) throws(Problem) -> Bool {
            switch values[name]?.lowercased() {
            case "true": return true
            case "false", nil: return false
            default: throw Problem(parameter: name, "must be true or false")
            }
        }
    }
}
