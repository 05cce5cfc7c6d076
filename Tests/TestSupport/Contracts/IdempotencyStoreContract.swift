package import FetchJobs

/// The contract of every form of ``IdempotencyStore``.
package enum IdempotencyStoreContract {
    private static func asked(_ key: String, _ request: UInt8) -> Idempotency {
        Idempotency(key: key, fingerprint: SHA256Digest(of: [request]))
    }

    /// Begins a request, which is the first one with its key.
    private static func begun(
        _ idempotency: Idempotency, _ store: any IdempotencyStore
    ) async throws -> IdempotentRequest {
        guard case .begun(let request) = try await store.begin(idempotency, of: .first) else {
            throw StoreError(.failed, "The key is taken.")
        }
        return request
    }

    package static let clauses: [Clause<any IdempotencyStore>] = [
        Clause("a repeat gets the response of the first request, once that has ended") { store in
            let request = try await begun(asked("k", 1), store)
            let running = try await store.begin(asked("k", 1), of: .first)
            try await store.end(request, with: [7, 8])
            return compare("running", running, .running)
                + compare("ended", try await store.begin(asked("k", 1), of: .first), .ended([7, 8]))
        },
        Clause("a key is not for another request, whether the first one has ended or not") { store in
            let request = try await begun(asked("k", 1), store)
            let running = try await store.begin(asked("k", 2), of: .first)
            try await store.end(request, with: [7])
            let ended = try await store.begin(asked("k", 2), of: .first)
            return compare("other", [running, ended], [.conflict, .conflict])
        },
        Clause("a request whose response is too long is not carried out again") { store in
            try await store.end(try await begun(asked("k", 1), store), with: nil)
            return compare("again", try await store.begin(asked("k", 1), of: .first), .endedAtLength)
        },
        Clause("a request that came to nothing leaves no key behind") { store in
            let request = try await begun(asked("k", 1), store)
            try await store.abandon(request)
            // A late end changes nothing for the next one.
            let next = try await begun(asked("k", 2), store)
            try await store.end(request, with: [7])
            try await store.abandon(request)
            let running = try await store.begin(asked("k", 2), of: .first)
            return compare("another", next == request, false) + compare("next", running, .running)
        },
        Clause("a key is one of its tenant") { store in
            _ = try await begun(asked("k", 1), store)
            guard case .begun = try await store.begin(asked("k", 2), of: .second) else {
                return ["the key of another tenant is taken"]
            }
            return []
        },
    ]
}
