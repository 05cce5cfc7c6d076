import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Stored responses to requests with credentials, and the users that get them.
@Suite struct CachedAuthenticationTests {
    private static let ann = Credential(user: "ann", password: "a", persistence: .forSession)
    private static let bob = Credential(user: "bob", password: "b", persistence: .forSession)
    private static let hasApache = LoopbackServer.hasApache(modules: "auth_digest", "auth_basic", "dav_fs")

    /// An origin that lets anybody in who says a name, and tells it back.
    private static func origin(_ lines: String...) throws -> CachingOrigin {
        try CachingOrigin { _, head in
            guard let user = head.field("Authorization") else {
                return CachingOrigin.answer(401, ["WWW-Authenticate: Basic realm=\"r\""])
            }
            if head.contains("If-None-Match") { return CachingOrigin.answer(304, lines) }
            return CachingOrigin.answer(200, lines, body: user)
        }
    }

    private static func session(_ cache: any ResponseCache, as user: Credential) -> Session {
        .caching(in: cache, delegate: ChallengeLog(using: user, user))
    }

    // RFC 9111 §3.5 is about caches that several users share.
    @Test func `what a credential was given is given to it again`() async throws {
        let (origin, cache) = (try Self.origin("Cache-Control: max-age=60"), MemoryResponseCache())
        let session = Self.session(cache, as: Self.ann)
        let (first, _) = try await session.text(try origin.request())
        for _ in 0..<2 {
            let (again, response) = try await session.text(try origin.request())
            #expect(again == first && response.source == .cache)
        }
        #expect(origin.count == 2)
        // A session that knows nothing of the server yet learns from the challenge who it is.
        let (later, response) = try await Self.session(cache, as: Self.ann).text(try origin.request())
        #expect(later == first && response.source == .cache)
        #expect(origin.count == 3)
    }

    @Test func `another credential, and a request without one, ask for themselves`() async throws {
        let (origin, cache) = (try Self.origin("Cache-Control: max-age=60"), MemoryResponseCache())
        let mine = try await Self.session(cache, as: Self.ann).text(try origin.request()).0
        let others = [Self.bob, Credential(user: "ann", password: "b")]
        for other in others {
            let (theirs, response) = try await Self.session(cache, as: other).text(try origin.request())
            #expect(theirs != mine && response.source == .network)
        }
        #expect(try await Session.caching(in: cache).text(try origin.request()).1.status == .unauthorized)
        // Nor can the digest that stands for a credential be said in its place.
        let entries = await cache.entries(for: CacheKey(try origin.request()), selectedBy: try origin.request())
        #expect(entries.count == 3 && entries.allSatisfy { $0.selection.names == ["authorization"] })
    }

    /// Sends a ticket, whatever the credential.
    private struct TicketScheme: AuthenticationScheme {
        let name = "ticket"
        var isPreemptive = true
        let ticket: String

        func accepts(_ credential: Credential) -> Bool { true }
        func authorization(
            for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
        ) async -> String? { "Ticket \(ticket)" }
    }

    // Neither may a user with an empty password get a response for tickets, nor the other way round.
    @Test func `what a credential was given that is neither password nor token is not stored`() async throws {
        let origin = try CachingOrigin { _, head in
            guard let ticket = head.field("Authorization") else {
                return CachingOrigin.answer(401, ["WWW-Authenticate: Ticket realm=\"r\""])
            }
            return CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: ticket)
        }
        let cache = MemoryResponseCache()
        func load(_ ticket: String, _ credential: Credential) async throws -> (String, Response) {
            let session = Session.caching(in: cache, delegate: ChallengeLog(using: credential)) {
                $0.authentication.schemes = [TicketScheme(ticket: ticket)]
            }
            return try await session.text(try origin.request())
        }
        let credentials = [
            Credential(user: "ann", password: ""), Credential(kerberosTicketsIn: "FILE:/b", principal: "ann"),
            Credential(kerberosTicketsIn: "FILE:/c", principal: "ann"),
            Credential(kerberosPrincipal: "ann", keytab: "/d"),
        ]
        for (index, credential) in credentials.enumerated() {
            let (body, response) = try await load("\(index)", credential)
            #expect(body == "Ticket \(index)" && response.source == .network)
            #expect(response.cacheStatus.isStored == (index == 0))
        }
        let (body, response) = try await load("4", credentials[0])
        #expect(body == "Ticket 0" && response.source == .cache)
    }

    @Test func `an answer is confirmed with the credential that it was given to`() async throws {
        let (origin, cache) = (try Self.origin("Cache-Control: no-cache", "ETag: \"a\""), MemoryResponseCache())
        let session = Self.session(cache, as: Self.ann)
        let sources = [Response.Source.network, .revalidated, .revalidated]
        for source in sources { #expect(try await session.text(try origin.request()).1.source == source) }
        #expect(origin.count == 4)
        #expect(origin.heads.dropFirst(2).allSatisfy { $0.field("If-None-Match") == "\"a\"" })
    }

    // A stored redirect is followed without a request, and an authorization for that request is not sent elsewhere.
    @Test func `a stored redirect takes no credential along`() async throws {
        let other = try CachingOrigin("X: 1")
        let target = try other.request("/there").url.description
        let origin = try CachingOrigin { _, head in
            head.field("Authorization") == nil
                ? CachingOrigin.answer(401, ["WWW-Authenticate: Basic realm=\"r\""])
                : CachingOrigin.answer(301, ["Cache-Control: max-age=60", "Location: \(target)"])
        }
        let cache = MemoryResponseCache()
        for _ in 0..<3 { _ = try await Self.session(cache, as: Self.ann).text(try origin.request()) }
        #expect(origin.count == 4 && other.count >= 1)
        #expect(other.heads.allSatisfy { $0.field("Authorization") == nil })
    }

    @Test func `a challenge to a conditional request leaves what is stored`() async throws {
        let origin = try CachingOrigin { count, head in
            count == 2
                ? CachingOrigin.answer(401, ["WWW-Authenticate: Basic realm=\"r\""])
                : CachingOrigin.answer(count == 1 ? 200 : 304, ["Cache-Control: no-cache", "ETag: \"a\""])
        }
        let session = Session.caching()
        for status in [200, 401, 200] {
            #expect(try await session.text(try origin.request()).1.status.code == status)
        }
        #expect(origin.heads.last?.field("If-None-Match") == "\"a\"")
    }

    @Test(.enabled(if: hasApache), arguments: ["basic", "digest"])
    func `httpd confirms what it has given to a user before`(_ area: String) async throws {
        let server = try await LoopbackServer.apache()
        let (cache, url) = (MemoryResponseCache(), try URLRecord(server.url("/\(area)/page")))
        let user = Credential(user: Cave.user, password: Cave.password, persistence: .forSession)
        for _ in 0..<2 {
            let session = Self.session(cache, as: user)
            for _ in 0..<2 {
                var request = Request(url: url)
                request.headerFields[.cacheControl] = "max-age=0"
                #expect(try await session.text(request).0 == Cave.treasure)
            }
        }
        let statuses = ["401 -", "200 \(Cave.user)", "304 \(Cave.user)"]
        let expected = statuses + ["401 -", "304 \(Cave.user)", "304 \(Cave.user)"]
        // Each process of httpd writes when it has sent, so that lines of two connections may change places.
        #expect(try await server.accessLog(6).sorted() == expected.map { "GET /\(area)/page \($0)" }.sorted())
    }

    @Test func `with a key, nobody without it can tell from what is stored what a request carried`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60", "Vary: Cookie")
        let cache = KeyedCache()
        let session = Session.caching(in: cache) { $0.httpCookieStorage = nil }
        let request = try origin.request("/", .get, "Authorization: Basic x", "Cookie: a=1")
        for source in [Response.Source.network, .cache] {
            #expect(try await session.text(request).1.source == source)
        }
        let entries = await cache.entries(for: CacheKey(request), selectedBy: request)
        #expect(entries.count == 1)
        let known = CacheSelection(of: HTTPFields(lines: ["Vary: Cookie"]), for: request.headerFields)
        #expect(entries.first?.selection.names == known?.names)
        #expect(entries.first?.selection.digest != known?.digest)
    }

    /// A cache in memory, of which others might see something.
    private final class KeyedCache: ResponseCache {
        private let base = MemoryResponseCache()

        let selectionKey: [UInt8]? = Array(0..<32)
        var maximumEntryBytes: Int64 { base.maximumEntryBytes }

        nonisolated(nonsending) func entries(for key: CacheKey, selectedBy request: Request) async -> [CacheEntry] {
            await base.entries(for: key, selectedBy: request)
        }
        nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody? { await base.body(of: entry) }
        nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)? {
            await base.writer(for: entry)
        }
        nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async {
            await base.refresh(entry, replacing: id)
        }
        nonisolated(nonsending) func remove(_ entry: CacheEntry) async { await base.remove(entry) }
        nonisolated(nonsending) func removeEntries(for key: CacheKey) async { await base.removeEntries(for: key) }
        nonisolated(nonsending) func removeEntries(since time: UnixTime) async { await base.removeEntries(since: time) }
        nonisolated(nonsending) func removeAllEntries() async { await base.removeAllEntries() }
    }
}
