import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Queues: flows that messages wait in.
struct QStashQueueRoutes: Sendable {
    private static let maximumBody = 65_536
    private static let maximumParallelism: Int64 = 100_000

    let queues: QStashQueues

    var routes: [Route] {
        [
            Route(.get, "/v2/queues", tenant: list),
            Route(.post, "/v2/queues", tenant: set),
            Route(.get, "/v2/queues/{queue}", tenant: get),
            Route(.delete, "/v2/queues/{queue}", tenant: remove),
            Route(.post, "/v2/queues/{queue}/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.post, "/v2/queues/{queue}/resume", tenant: { try await setPaused(false, $0, $1) }),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let found = try await queues.limiters.flows(of: tenant, beginning: QStashMessage.flow(ofQueue: ""))
        var writer = JSONWriter()
        writer.array { writer in for queue in found { writer.object { Self.write(queue, &$0) } } }
        return .json(writer.bytes)
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let address = try address(call, tenant)
        guard let queue = try await queues.limiters.limiter(address) else { throw Self.notFound }
        return .json { Self.write(queue, &$0) }
    }

    private func set(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let json = try JSONParser.parse(try await call.body(upTo: Self.maximumBody).readableBytesView)
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["queueName", "parallelism", "paused"])
        let name = object?.required("queueName")?.string(maximumLength: 128)
        let parallelism = object?["parallelism"]?.integer(in: 1...Self.maximumParallelism)
        let isPaused = object?["paused"]?.bool()
        try check.finish()
        let address = QStashQueues.address(try QStashMessage.queue(name ?? ""), of: tenant)
        try await queues.set(QStashQueues.limits(parallelism: Int(parallelism ?? 1)), of: address)
        if let isPaused { try await queues.limiters.setPaused(isPaused, address) }
        return Self.done
    }

    private func setPaused(_ isPaused: Bool, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        let address = try address(call, tenant)
        guard try await queues.limiters.limiter(address) != nil else { throw Self.notFound }
        try await queues.limiters.setPaused(isPaused, address)
        return Self.done
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await queues.remove(address(call, tenant))
        return Self.done
    }

    private func address(_ call: Call, _ tenant: Tenant.ID) throws -> Limiter.Address {
        QStashQueues.address(try QStashMessage.queue(call.decodedParameter), of: tenant)
    }

    private static func write(_ queue: Limiter, _ writer: inout JSONWriter) {
        writer.member("name", String(queue.address.key.dropFirst(QStashMessage.flow(ofQueue: "").utf8.count)))
        writer.member("parallelism", queue.limits.parallelism ?? 1)
        writer.member("createdAt", (queue.createdAt?.microseconds ?? 0) / 1000)
        writer.member("updatedAt", (queue.updatedAt?.microseconds ?? 0) / 1000)
        writer.member("lag", queue.waiting)
        writer.member("paused", queue.isPaused)
    }

    private static let notFound = Problem(.notFound, "There is no queue with this name.")
    private static var done: Response { .json { _ in } }
}

/// The keys that messages are signed with.
struct QStashKeyRoutes: Sendable {
    private static let maximumBody = 65_536

    let keys: any SigningKeyStore

    var routes: [Route] {
        [
            Route(.get, "/v2/keys", tenant: { _, tenant in Self.response(try await keys.signingKeys(of: tenant)) }),
            Route(.post, "/v2/keys/rotate", tenant: rotate),
        ]
    }

    private func rotate(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        return Self.response(try await keys.rotateSigningKeys(of: tenant))
    }

    private static func response(_ keys: SigningKeys) -> Response {
        .json { writer in
            writer.member("current", keys.current)
            writer.member("next", keys.next)
        }
    }
}
