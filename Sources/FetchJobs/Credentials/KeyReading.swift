import FetchEngine
import Synchronization

/// Reads texts of clients that may hold an encrypted key: to derive the key that decrypts it is costly on purpose.
///
/// It is done on threads of its own, few at a time, so that it takes at most as many processors; the threads of the
/// process that answer and load go on. Tenants take turns.
package final class KeyReading: Sendable {
    /// A tenant has as many requests waiting as it may.
    package struct Busy: Error {}

    /// For the whole process, whose processors it is about.
    package static let shared = KeyReading()

    static let maximumRunning = 2
    static let maximumWaiting = 16

    private struct State {
        var running = 0
        var waiting: [Tenant.ID: [CheckedContinuation<Void, Never>]] = [:]
        /// The tenants in the order of their turns.
        var turns: [Tenant.ID] = []
    }

    private let state = Mutex(State())

    /// How many requests wait.
    var waitingCount: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// Makes a value of a text that a tenant wrote; at once when there is no encrypted key in it.
    package nonisolated(nonsending) func read<Value: Sendable>(
        _ json: JSONValue,
        of tenant: Tenant.ID,
        _ make: @escaping @Sendable (JSONValue) throws(InvalidInput) -> Value
    ) async throws -> Value {
        guard json.holdsEncryptedKey else { return try make(json) }
        try await enter(tenant)
        defer { leave() }
        try Task.checkCancellation()
        let result = await onOwnThread { () -> Result<Value, InvalidInput> in
            do throws(InvalidInput) { return .success(try make(json)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func enter(_ tenant: Tenant.ID) async throws(Busy) {
        let mayEnter: Bool? = state.withLock { state in
            if state.running < Self.maximumRunning {
                state.running += 1
                return true
            }
            return state.waiting[tenant, default: []].count < Self.maximumWaiting ? false : nil
        }
        guard let mayEnter else { throw Busy() }
        guard !mayEnter else { return }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                // Somebody may have left in between.
                if state.running < Self.maximumRunning {
                    state.running += 1
                    return true
                }
                if state.waiting[tenant] == nil { state.turns.append(tenant) }
                state.waiting[tenant, default: []].append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Gives the place to the next caller.
    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let tenant = state.turns.first, var waiting = state.waiting[tenant] else {
                state.running -= 1
                return nil
            }
            state.turns.removeFirst()
            let next = waiting.removeFirst()
            state.waiting[tenant] = waiting.isEmpty ? nil : waiting
            if !waiting.isEmpty { state.turns.append(tenant) }
            return next
        }
        next?.resume()
    }
}

extension JSONValue {
    /// Whether some member may be a key that has to be decrypted.
    var holdsEncryptedKey: Bool {
        switch self {
        case .null, .bool, .number, .string: false
        case .array(let elements): elements.contains(where: \.holdsEncryptedKey)
        case .object(let members):
            members.contains {
                $0.name.isSame(as: "pkcs12") || $0.name.isSame(as: "privateKey") || $0.value.holdsEncryptedKey
            }
        }
    }
}
