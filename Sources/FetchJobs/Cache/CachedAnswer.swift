package import FetchEngine
import HTTPTypes

/// A set of stored responses: those that match every member that is set.
package struct CacheFilter: Sendable {
    package var session: TenantSession.ID?
    /// The URL as in ``CacheKey/url``, for every method.
    package var url: String?
    package var host: String?
    /// How the URL begins.
    package var prefix: String?
    /// A tag that the origin gave them.
    package var tag: String?
    /// When they came at the earliest.
    package var since: Timestamp?
    package var answer: CachedAnswer.ID?

    package init(session: TenantSession.ID? = nil) { self.session = session }

    /// The form in which a URL is looked for; nil for a text that is no URL whose answers can be cached.
    package static func canonicalURL(_ text: String) -> String? {
        guard let url = try? URLRecord(text), url.isHTTP else { return nil }
        return CacheKey(url: url).url
    }
}

/// Where a cached answer stands in a list that begins with the latest.
package struct CachePosition: Sendable, Equatable {
    package let respondedAt: Timestamp
    /// Tells answers apart that came at the same instant.
    package let id: Int64

    package init(_ answer: CachedAnswer) {
        respondedAt = Timestamp(microseconds: answer.entry.responseTime.microseconds)
        id = Int64(bitPattern: answer.entry.id.rawValue)
    }

    /// The position that was written as this text, or nil when none was.
    package init?(_ text: String) {
        let numbers = text.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        self.init(microseconds: numbers[0], id: numbers[1])
    }

    /// The position that an id stands for, or nil when no answer can have it.
    package init?(_ id: CachedAnswer.ID) {
        self.init(microseconds: Int64(bitPattern: id.uuid.high), id: Int64(bitPattern: id.uuid.low))
    }

    private init?(microseconds: Int64, id: Int64) {
        // The times that PostgreSQL has.
        guard (0...253_402_300_799_000_000).contains(microseconds) else { return nil }
        respondedAt = Timestamp(microseconds: microseconds)
        self.id = id
    }

    package var text: String { "\(respondedAt.microseconds) \(id)" }
}

/// A cached answer as its owner sees it: without the body.
package struct CachedAnswer: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "cch"
    }

    /// Names one version of the answer: an answer that its origin has confirmed or replaced is another.
    package typealias ID = Identifier<Kind>

    package let session: TenantSession.ID
    package let entry: CacheEntry
    package let tags: [String]

    package init(session: TenantSession.ID = .default, entry: CacheEntry, tags: [String]) {
        self.session = session
        self.entry = entry
        self.tags = tags
    }

    package var id: ID {
        let position = CachePosition(self)
        return ID(
            UUIDv7(high: UInt64(bitPattern: position.respondedAt.microseconds), low: UInt64(bitPattern: position.id)))
    }

    /// How many bytes the body has.
    package var bytes: Int64 { entry.bodyLength }

    /// As the origin named it.
    package var contentType: String? { entry.response.headerFields[.contentType] }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("session", session == .default ? "default" : session.description)
        writer.member("method", entry.key.method)
        writer.member("url", entry.key.url)
        writer.member("status", entry.response.status.code)
        writer.member("headers", array: { $0.headers(entry.response.headerFields) })
        writer.member("mimeType", entry.response.mimeType)
        writer.member("bytes", bytes)
        writer.member("respondedAt", Timestamp(microseconds: entry.responseTime.microseconds).description)
        writer.member("varies", array: { writer in entry.selection.names.forEach { writer.value($0) } })
        writer.member("tags", array: { writer in tags.forEach { writer.value($0) } })
        writer.member("storagePolicy", entry.storagePolicy.rawValue)
        writer.member(
            "userInfo",
            object: { writer in
                for (name, value) in entry.userInfo.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
            })
    }

    /// Writes how a request would be answered that selects the response, and why.
    package func explain(_ writer: inout JSONWriter, at now: UnixTime = .now) {
        let times = entry.times(at: now)
        write(&writer)
        writer.member("age", times.age.seconds)
        writer.member("freshnessLifetime", times.lifetime.seconds)
        writer.member("isHeuristic", times.isHeuristic)
        writer.member("requiresValidation", times.requiresValidation)
        writer.member("hasValidator", entry.hasValidator)
        writer.member("verdict", verdict(times))
    }

    private func verdict(_ times: CacheEntry.Times) -> String {
        if times.age < times.lifetime, !times.requiresValidation { return "hit" }
        return entry.hasValidator ? "revalidate" : "miss"
    }
}
