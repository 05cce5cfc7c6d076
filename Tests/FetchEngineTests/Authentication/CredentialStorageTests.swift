import FetchEngine
import Testing

@Suite struct CredentialStorageTests {
    private static let space = ProtectionSpace(
        host: "h", port: 80, scheme: "http", realm: "r", method: .httpBasic)

    private static func credential(_ user: String, _ password: String = "p") -> Credential {
        Credential(user: user, password: password, persistence: .forSession)
    }

    // Proves: CRD-3.
    @Test func `a space has credentials by user, and one default`() async {
        let store: any CredentialStorage = MemoryCredentialStorage()
        await store.set(Self.credential("a"), for: Self.space)
        await store.set(Self.credential("b"), for: Self.space)
        #expect(await store.defaultCredential(for: Self.space)?.user == "a")
        await store.setDefault(Self.credential("b", "new"), for: Self.space)
        #expect(await store.defaultCredential(for: Self.space) == Self.credential("b", "new"))
        #expect(await store.credentials(for: Self.space).keys.sorted() == ["a", "b"])
        await store.remove(Self.credential("b"), for: Self.space)
        #expect(await store.defaultCredential(for: Self.space) == nil)
        #expect(await store.allCredentials() == [Self.space: ["a": Self.credential("a")]])
        await store.removeAll()
        #expect(await store.allCredentials().isEmpty)
    }

    // Proves: AUT-2, FN-20.
    @Test func `spaces are found by their value, and differ in each of their parts`() async {
        let store = MemoryCredentialStorage()
        store.set(Self.credential("a"), for: Self.space)
        let same = ProtectionSpace(host: "h", port: 80, scheme: "http", realm: "r", method: .httpBasic)
        #expect(store.defaultCredential(for: same) == Self.credential("a"))
        for change: (inout ProtectionSpace) -> Void in [
            { $0.host = "i" }, { $0.port = 81 }, { $0.scheme = "https" }, { $0.realm = "s" }, { $0.realm = nil },
            { $0.method = .httpDigest }, { $0.isProxy = true },
        ] {
            var other = Self.space
            change(&other)
            #expect(store.defaultCredential(for: other) == nil)
        }
    }

    // Proves: CRD-2.
    @Test func `a credential for one request is not kept`() async {
        let store = MemoryCredentialStorage()
        store.set(Credential(user: "u", password: "p", persistence: .none), for: Self.space)
        store.setDefault(Credential(user: "u", password: "p", persistence: .none), for: Self.space)
        #expect(store.allCredentials().isEmpty)
    }

    // Proves: CRD-8.
    @Test func `each change is told once to each reader`() async {
        var other = Self.space
        other.realm = "other"
        let store = MemoryCredentialStorage()
        var readers = [store.changes().makeAsyncIterator(), store.changes().makeAsyncIterator()]
        store.set(Self.credential("a"), for: Self.space)
        store.set(Self.credential("a"), for: Self.space)
        store.remove(Self.credential("nobody"), for: Self.space)
        store.set(Self.credential("a"), for: other)
        store.remove(Self.credential("a"), for: other)
        store.removeAll()
        for index in readers.indices {
            var told: [ProtectionSpace] = []
            for _ in 0..<4 { if let space = await readers[index].next() { told.append(space) } }
            #expect(told == [Self.space, other, other, Self.space])
        }
    }

    // Proves: CRD-1, DLG-7, SEC-52.
    @Test func `a credential does not print`() {
        for credential in [Self.credential("name", "secret"), Credential(bearerToken: "secret")] {
            var dumped = ""
            dump(credential, to: &dumped)
            for text in ["\(credential)", String(reflecting: credential), dumped, "\([credential])"] {
                #expect(!text.contains("secret") && !text.contains("name"))
            }
        }
    }
}
