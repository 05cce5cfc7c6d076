package import FetchEngine

/// Why jobs may not reach a URL, as far as the URL itself tells; nil when they may, or when its name has to be looked
/// up to know.
package typealias TargetCheck = @Sendable (URLRecord) -> String?
