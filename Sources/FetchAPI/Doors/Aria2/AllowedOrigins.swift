import HTTPTypes
import HummingbirdCore

/// The web pages that may speak to a door, by their origins (RFC 6454).
///
/// A request without the field `Origin` is of no page that another site has made; one of a page of ours is taken.
package struct AllowedOrigins: Sendable, CustomStringConvertible {
    /// As browsers write them; `*` stands for every page.
    let origins: Set<String>

    package init(_ origins: Set<String> = []) { self.origins = origins }

    package var description: String { origins.isEmpty ? "none" : origins.sorted().joined(separator: ", ") }

    /// The origin of a request, for the answer; nil for one without.
    ///
    /// - Throws: ``Problem`` `forbidden` for a page that may not speak to us.
    func require(of call: Call) throws(Problem) -> String? {
        guard let origin = call.headers[.origin] else { return nil }
        guard origins.contains("*") || origins.contains(origin) || call.isOwn(origin: origin) else {
            throw Problem(.forbidden, "Pages of this origin may not speak to the service (ARIA2_ALLOWED_ORIGINS).")
        }
        return origin
    }

    /// Tells the browser that the page may read the answer.
    static func write(_ origin: String?, to headers: inout HTTPFields) {
        headers[.vary] = "Origin"
        headers[.accessControlAllowOrigin] = origin
    }
}
