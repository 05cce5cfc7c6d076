import FetchEngine
import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@Suite struct KnownProtocolsTests {
    private let first = Tenant(id: .init(rawValue: 1), name: "a")
    private let second = Tenant(id: .init(rawValue: 2), name: "b")

    private func known(_ protocols: RegisteredProtocol...) async throws -> KnownProtocols {
        let store = MemoryProtocolStore()
        for one in protocols { _ = try await store.register(one) }
        let known = KnownProtocols(store: store)
        try await known.refresh()
        return known
    }

    private func make(
        _ name: String, _ scheme: String, host: String? = nil, tenants: [Tenant]? = nil, at time: Int64 = 0
    ) throws -> RegisteredProtocol {
        RegisteredProtocol(
            name: name, scheme: scheme, host: host.flatMap { HostPattern($0) },
            url: try URLRecord("https://p.example/"), tenants: tenants, registeredAt: Timestamp(microseconds: time))
    }

    private func name(
        _ url: String, _ known: KnownProtocols, of tenant: Tenant? = nil, among names: [String]? = nil
    ) throws -> String? {
        known.protocol(for: try URLRecord(url), of: (tenant ?? first).id, among: names)?.name
    }

    @Test func `the one registered last that takes a URL has it`() async throws {
        let known = try await known(
            make("all", "archive", at: 1), make("some", "archive", host: "*.a.example", at: 2))
        #expect(try name("archive://x.A.example/", known) == "some")
        #expect(try name("archive://a.example/", known) == "all")
        #expect(try name("archive:x", known) == "all")
        #expect(try name("other:x", known) == nil)
    }

    @Test func `a protocol takes nothing of tenants that it does not serve`() async throws {
        let known = try await known(make("web", "https", host: "a.example", tenants: [second]))
        #expect(try name("https://a.example/", known, of: second) == "web")
        #expect(try name("https://a.example/", known) == nil)
        #expect(try name("https://b.example/", known, of: second) == nil)
        #expect(try name("http://a.example/", known, of: second) == nil)
    }

    @Test func `a session has those that it names, in its order`() async throws {
        let known = try await known(
            make("one", "archive", at: 1), make("two", "archive", at: 2),
            make("not mine", "archive", tenants: [second], at: 3))
        #expect(try name("archive:x", known, among: ["one", "two"]) == "one")
        #expect(try name("archive:x", known, among: ["not mine", "two"]) == "two")
        #expect(try name("archive:x", known, among: []) == nil)
    }
}
