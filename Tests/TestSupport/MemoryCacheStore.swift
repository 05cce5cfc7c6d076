import FetchEngine
package import FetchJobs
import Synchronization

/// The cached answers of a test: the second form of ``CacheStore``, which holds what the test puts in.
package final class MemoryCacheStore: CacheStore {
    private let answers = Mutex<[CachedAnswer]>([])
    private let bodies = Mutex<[CachedAnswer.ID: [UInt8]]>([:])

    package init() {}

    package func put(_ answer: CachedAnswer, body: [UInt8] = []) {
        answers.withLock { $0.append(answer) }
        bodies.withLock { $0[answer.id] = body }
    }

    /// What is put in by the API is there for its session, whatever its size.
    package func put(_ submission: CacheSubmission, of tenant: Tenant.ID) async throws(StoreError) -> CachePutting {
        let cache = MemoryResponseCache(capacity: 1 << 30)
        guard let entry = await cache.store(submission.answer, for: submission.request) else {
            return .tooLarge(limit: cache.maximumEntryBytes)
        }
        let answer = CachedAnswer(session: submission.session, entry: entry, tags: [])
        put(answer, body: submission.answer.data)
        return .stored(answer)
    }

    package func body(of answer: CachedAnswer, tenant: Tenant.ID) async throws(StoreError) -> StoredBody.Location? {
        bodies.withLock { $0[answer.id] }.map { .inline($0) }
    }

    package func answers(
        _ filter: CacheFilter,
        of tenant: Tenant.ID,
        after position: CachePosition?,
        limit: Int
    ) async throws(StoreError) -> [CachedAnswer] {
        let place = { (position: CachePosition) in (position.respondedAt, position.id) }
        let chosen = answers.withLock { $0.filter { filter.includes($0) } }
            .filter { answer in position.map { place(CachePosition(answer)) < place($0) } ?? true }
            .sorted { place(CachePosition($0)) > place(CachePosition($1)) }
        return Array(chosen.prefix(limit))
    }

    package func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws(StoreError) -> Int {
        answers.withLock { answers in
            let count = answers.count
            answers.removeAll { filter.includes($0) }
            return count - answers.count
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
