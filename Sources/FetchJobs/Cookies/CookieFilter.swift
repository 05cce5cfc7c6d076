package import FetchEngine

/// Which cookies a request is about.
package struct CookieFilter: Sendable {
    /// Stands for itself and the domains below it; nil for all.
    package let domain: String?
    /// Nil for all.
    package let name: String?

    package init(domain: String? = nil, name: String? = nil) {
        self.domain = domain.map { ($0.hasPrefix(".") ? String($0.dropFirst()) : $0).lowercased() }
        self.name = name
    }

    package func includes(_ cookie: Cookie) -> Bool {
        if let name, cookie.name != name { return false }
        guard let domain else { return true }
        return cookie.domain == domain || cookie.domain.hasSuffix("." + domain)
    }
}

/// Where a cookie stands in a list that is ordered by domain.
package struct CookiePosition: Comparable, Sendable {
    private let domain: String
    /// Identifies a cookie of a domain in few characters, for any name and path.
    private let number: String

    package init(_ cookie: Cookie) {
        domain = cookie.domain
        let rest = [cookie.nameBytes, Array(cookie.path.utf8), Array((cookie.partition ?? "").utf8)]
        let digest = SHA256Digest(of: Array(rest.joined(separator: [0])) + [cookie.isHostOnly ? 1 : 0])
        number = digest.hexadecimal(16)
    }

    /// The position that was written as this text, or nil when none was.
    package init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        (domain, number) = (String(parts[0]), String(parts[1]))
    }

    package var text: String { "\(domain)\n\(number)" }

    package static func < (left: Self, right: Self) -> Bool {
        (left.domain, left.number) < (right.domain, right.number)
    }
}
