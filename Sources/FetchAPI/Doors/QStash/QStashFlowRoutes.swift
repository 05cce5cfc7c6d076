import FetchJobs
import FetchRuntime
import Foundation
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

    /// All jobs of the tenant count, as they share what it may have.
    private func parallelism(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let queue = try await limiters.queue(of: tenant)
        let maximum = tenantLimits[.maximumRunningJobs, tenant]
        return .json { writer in
            writer.member("parallelismMax", maximum ?? 0)
            writer.member("parallelismCount", queue.running)
        }
    }

    private func flow(_ call: Call, _ tenant: Tenant.ID) async throws -> Limiter {
        let key = call.decodedParameter
        guard (1...Self.maximumKey).contains(key.utf8.count) else {
            throw Problem(.invalidParameter, "A flow control key has 1 to \(Self.maximumKey) bytes.")
        }
        let address = Limiter.Address(tenant: tenant, kind: .flow, key: QStashMessage.flow(ofKey: key))
        guard let flow = try await limiters.limiter(address) else {
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
        writer.member("isPaused", flow.isPaused)
        writer.member("isPinnedParallelism", false)
        writer.member("isPinnedRate", false)
    }
}
