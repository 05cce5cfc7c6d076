import FetchEngine
package import FetchJobs
import HTTPTypes
import Synchronization

/// The cached responses of a test, in memory: the second form of ``CacheStore``, with the responses that the test adds.
package final class MemoryCacheStore: CacheStore {
    private struct Stored {
        let tenant: Tenant.ID
        let answer: CachedAnswer
        let body: [UInt8]
    }

    private let stored = Mutex<[Stored]>([])

    package init() {}

    package func put(_ answer: CachedAnswer, body: [UInt8] = [], of tenant: Tenant.ID = Tenant.ID(rawValue: 1)) {
        stored.withLock { $0.append(Stored(tenant: tenant, answer: answer, body: body)) }
    }

    /// Stores a response of the API for its session, whatever its size.
    package func put(_ submission: CacheSubmission, of tenant: Tenant.ID) async throws(StoreError) -> CachePutting {
        let cache = MemoryResponseCache(capacity: 1 << 30)
        guard let entry = await cache.store(submission.answer, for: submission.request) else {
            return .tooLarge(limit: cache.maximumEntryBytes)
        }
        let answer = CachedAnswer(session: submission.session, entry: entry, tags: Self.tags(of: entry))
        stored.withLock { stored in
            stored.removeAll {
                $0.tenant == tenant && $0.answer.session == answer.session && $0.answer.entry.key == entry.key
                    && $0.answer.entry.selection == entry.selection
            }
            stored.append(Stored(tenant: tenant, answer: answer, body: submission.answer.data))
        }
        return .stored(answer)
    }

    /// The tags that the origin gave the response.
    private static func tags(of entry: CacheEntry) -> [String] {
        ["Cache-Tag", "Surrogate-Key"].compactMap { HTTPField.Name($0) }
            .flatMap { entry.response.headerFields[values: $0] }
            .flatMap { $0.split { ", \t".contains($0) } }.map { String($0) }
    }

    package func body(of answer: CachedAnswer, tenant: Tenant.ID) async throws(StoreError) -> StoredBody.Location? {
        stored.withLock { $0.first { $0.tenant == tenant && $0.answer.id == answer.id }.map { .inline($0.body) } }
    }

    package func answers(
        _ filter: CacheFilter,
        of tenant: Tenant.ID,
        after position: CachePosition?,
        limit: Int
    ) async throws(StoreError) -> [CachedAnswer] {
        let place = { (position: CachePosition) in (position.respondedAt, position.id) }
        let chosen = stored.withLock { $0.filter { $0.tenant == tenant && filter.includes($0.answer) }.map(\.answer) }
            .filter { answer in position.map { place(CachePosition(answer)) < place($0) } ?? true }
            .sorted { place(CachePosition($0)) > place(CachePosition($1)) }
        return Array(chosen.prefix(limit))
    }

    package func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws(StoreError) -> Int {
        stored.withLock { stored in
            let count = stored.count
            stored.removeAll { $0.tenant == tenant && filter.includes($0.answer) }
            return count - stored.count
        }
    }
}

extension CacheFilter {
    fileprivate func includes(_ answer: CachedAnswer) -> Bool {
        let url = answer.entry.key.url
        return (session.map { $0 == answer.session } ?? true) && (self.url.map { $0 == url } ?? true)
            && (host.map { $0 == answer.entry.response.url.host } ?? true) && (prefix.map(url.hasPrefix) ?? true)
            && (tag.map(answer.tags.contains) ?? true)
            && (self.answer.map { $0 == answer.id } ?? true)
            && (since.map { $0.microseconds <= answer.entry.responseTime.microseconds } ?? true)
    }
}
