import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import FetchJobs

/// Reading keys that have to be decrypted, which is work on purpose.
@Suite struct KeyReadingTests {
    @Test func `few keys are read at a time, tenants take turns, and who asks for too much is told`() async throws {
        let readers = try Readers()
        let (many, one) = (Tenant.ID(rawValue: 1), Tenant.ID(rawValue: 2))
        let count = KeyReading.maximumWaiting + KeyReading.maximumRunning
        try await withThrowingTaskGroup { group in
            for _ in 0..<count { group.addTask { try await readers.read(for: many) } }
            try await until { readers.reading.waitingCount >= KeyReading.maximumWaiting }
            await #expect(throws: KeyReading.Busy.self) { try await readers.read(for: many) }
            group.addTask { try await readers.read(for: one) }
            try await until { readers.reading.waitingCount > KeyReading.maximumWaiting }
            try await until { readers.state.withLock(\.now) == KeyReading.maximumRunning }
            // A text without a key does not wait.
            try await readers.readAnother(for: many)
            // One at a time, so that the order in which they begin is that of their turns and not of their threads.
            for begun in KeyReading.maximumRunning + 1...count + 1 {
                readers.isOpen.signal()
                try await until { readers.state.withLock(\.order.count) == begun }
            }
            for _ in 0..<KeyReading.maximumRunning { readers.isOpen.signal() }
            try await group.waitForAll()
        }
        let state = readers.state.withLock(\.self)
        #expect(state.most == KeyReading.maximumRunning)
        #expect(state.order.count == count + 1)
        #expect(state.order.firstIndex(of: one) == KeyReading.maximumRunning + 1)
    }
}

/// The tenants that read at the moment, and those that have read.
private final class Readers: Sendable {
    struct State {
        var now = 0
        var most = 0
        var order: [Tenant.ID] = []
    }

    let reading = KeyReading()
    let state = Mutex(State())
    /// Each signal lets one go on.
    let isOpen = DispatchSemaphore(value: 0)
    private let withKey: JSONValue
    private let withoutKey: JSONValue

    init() throws {
        withKey = try JSONParser.parse(#"{"a": [{"privateKey": "x"}]}"#.utf8)
        withoutKey = try JSONParser.parse(#"{"a": [{"password": "privateKey"}]}"#.utf8)
    }

    func read(for tenant: Tenant.ID) async throws {
        try await reading.read(withKey, of: tenant) { [self] _ throws(InvalidInput) in
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
                state.order.append(tenant)
            }
            isOpen.wait()
            state.withLock { $0.now -= 1 }
        }
    }

    func readAnother(for tenant: Tenant.ID) async throws {
        try await reading.read(withoutKey, of: tenant) { _ throws(InvalidInput) in }
    }
}
