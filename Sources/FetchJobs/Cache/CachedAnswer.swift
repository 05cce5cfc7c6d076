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

    package var method: String { entry.key.method }

    /// In canonical form.
    package var url: String { entry.key.url }

    package var status: Int { entry.response.status.code }

    package var respondedAt: Timestamp { Timestamp(microseconds: entry.responseTime.microseconds) }

    /// The fields that requests have to have alike to be given it.
    package var varies: [String] { entry.selection.names }

    /// The names and values of its fields.
    package var fields: [(name: String, value: String)] {
        entry.response.headerFields.map { ($0.name.rawName, $0.value) }
    }

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

    /// What becomes of a request that selects the response.
    package enum Verdict: String, Sendable {
        /// It is given the response.
        case hit
        /// The origin is asked if the response is still good.
        case revalidate
        /// The origin is asked for another one.
        case miss
    }

    /// How old it is, and how long it is good.
    package struct Freshness: Sendable {
        package let age: Duration
        package let lifetime: Duration
        /// The lifetime is an estimate: the response states none.
        package let isHeuristic: Bool
        /// It has to be confirmed each time it is used.
        package let requiresValidation: Bool
        /// The origin can be asked if it is still good.
        package let hasValidator: Bool

        package var verdict: Verdict {
            if age < lifetime, !requiresValidation { return .hit }
            return hasValidator ? .revalidate : .miss
        }
    }

    package func freshness(at time: Timestamp) -> Freshness {
        let times = entry.times(at: UnixTime(microseconds: time.microseconds))
        return Freshness(
            age: times.age, lifetime: times.lifetime, isHeuristic: times.isHeuristic,
            requiresValidation: times.requiresValidation, hasValidator: entry.hasValidator)
    }

    /// Writes how a request would be answered that selects the response, and why.
    package func explain(_ writer: inout JSONWriter, at now: Timestamp = .now) {
        let freshness = freshness(at: now)
        write(&writer)
        writer.member("age", freshness.age.seconds)
        writer.member("freshnessLifetime", freshness.lifetime.seconds)
        writer.member("isHeuristic", freshness.isHeuristic)
        writer.member("requiresValidation", freshness.requiresValidation)
        writer.member("hasValidator", freshness.hasValidator)
        writer.member("verdict", freshness.verdict.rawValue)
    }
}
