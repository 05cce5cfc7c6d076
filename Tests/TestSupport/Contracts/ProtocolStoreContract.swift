import FetchEngine
package import FetchJobs

/// The contract of every form of ``ProtocolStore``, where there is the tenant `default` of the number 1.
package enum ProtocolStoreContract {
    private static let tenant = Tenant(id: Tenant.ID(rawValue: 1), name: "default")

    private static func make(
        _ name: String, order: Int64 = 0, at seconds: Int64 = 0, tenants: [Tenant]? = nil, host: String? = nil
    ) throws -> RegisteredProtocol {
        RegisteredProtocol(
            name: name, scheme: "archive", host: host.flatMap { HostPattern($0) },
            url: try URLRecord("https://\(name).example/load"), order: order, tenants: tenants,
            registeredAt: Timestamp(microseconds: (1_700_000_000 + seconds) * 1_000_000))
    }

    package static let clauses: [Clause<any ProtocolStore>] = [
        Clause("what is registered is found as it was given, with its secret") { store in
            let new = try make("one", order: 3, tenants: [tenant], host: "*.a.example:8080")
            let (stored, isNew) = try await store.register(new)
            let found = try await store.protocol(named: "one")
            return compare("new", isNew, true) + compare("secret", found?.secret, new.secret)
                + compare("stored", text(of: stored), text(of: new)) + compare("found", text(of: found), text(of: new))
                + compare("tenants", found?.tenants, [tenant])
                + compare("of all", try await store.register(make("two")).protocol.tenants, nil)
        },
        Clause("the lower order is asked first, and of equal ones the one that was registered last") { store in
            for (name, order, seconds) in [("a", 0, 1), ("b", 0, 2), ("c", -1, 0), ("d", 1, 9), ("e", 0, 2)] {
                _ = try await store.register(make(name, order: Int64(order), at: Int64(seconds)))
            }
            return compare("order", try await store.protocols().map(\.name), ["c", "b", "e", "a", "d"])
        },
        Clause("what is registered again changes, and keeps its secrets and its place") { store in
            let first = try await store.register(make("one", at: 1, tenants: [tenant])).protocol
            _ = try await store.register(make("two", at: 2))
            let rotated = try await store.rotate(SecretRotation(), ofProtocol: "one")
            let (changed, isNew) = try await store.register(make("one", at: 3, host: "b.example"))
            return compare("new", isNew, false) + compare("host", changed.host?.description, "b.example")
                + compare("tenants", changed.tenants, nil) + compare("secret", changed.secret, rotated?.secret)
                + compare("previous", changed.previousSecret?.secret, first.secret)
                + compare("order", try await store.protocols().map(\.name), ["two", "one"])
        },
        Clause("a new secret stands beside the one before it, for as long as asked") { store in
            let first = try await store.register(make("one")).protocol
            let second = try await store.rotate(SecretRotation(overlap: .seconds(60)), ofProtocol: "one")
            let found = try await store.protocol(named: "one")
            let third = try await store.rotate(SecretRotation(overlap: .zero), ofProtocol: "one")
            return compare("both", found?.secrets(at: .now), [second?.secret, first.secret].compactMap(\.self))
                + compare("alone", third?.secrets(at: .now), third.map { [$0.secret] })
                + compare("differs", third?.secret == second?.secret, false)
                + compare("unknown", try await store.rotate(SecretRotation(), ofProtocol: "none") == nil, true)
        },
        Clause("what is removed is gone, once") { store in
            _ = try await store.register(make("one"))
            return compare("first", try await store.remove("one"), true)
                + compare("second", try await store.remove("one"), false)
                + compare("left", try await store.protocols().map(\.name), [])
        },
    ]

    /// All that operators see of a protocol.
    private static func text(of one: RegisteredProtocol?) -> String? {
        one.map { String(decoding: JSONWriter.object($0.write), as: UTF8.self) }
    }
}
