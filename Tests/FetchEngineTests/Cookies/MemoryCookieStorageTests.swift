import FetchEngine
import TestSupport
import Testing

@Suite struct MemoryCookieStorageTests {
    // Proves: COK-5, COK-6, COK-8, COK-9, FN-25.
    @Test(arguments: CookieStorageContract.clauses)
    func `the memory form keeps the contract`(_ clause: Clause<any CookieStorage>) async throws {
        #expect(try await clause.differences(in: MemoryCookieStorage()) == [])
    }

    // Proves: COK-10.
    @Test func `storages share nothing`() async throws {
        let storages = [MemoryCookieStorage(), MemoryCookieStorage()]
        await storages[0].setCookie(try Cookie(name: "a", value: "1", domain: "example.org"), at: .now)
        #expect(try await storages[0].cookies().count == 1)
        #expect(try await storages[1].cookies().isEmpty)
    }

    // Proves: COK-9.
    @Test func `streams of changes end with the storage`() async {
        var storage: MemoryCookieStorage? = MemoryCookieStorage()
        var cookies = storage?.cookiesChanged().makeAsyncIterator()
        var policies = storage?.cookieAcceptPolicyChanged().makeAsyncIterator()
        storage = nil
        #expect(await cookies?.next() == nil)
        #expect(await policies?.next() == nil)
    }

    // Proves: COK-10.
    @Test func `many users at once leave every cookie in place`() async throws {
        let storage = MemoryCookieStorage()
        let url = try URLRecord("https://example.org/")
        await withTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    let context = CookieContext(url: url)
                    guard let cookie = try? Cookie(setCookie: Array("c\(number)=1".utf8), from: context) else { return }
                    _ = await storage.store([cookie], from: context, at: .now)
                    _ = await storage.cookies(for: context, at: .now)
                }
            }
        }
        #expect(await storage.cookies(for: CookieContext(url: url), at: .now).count == 100)
    }
}
