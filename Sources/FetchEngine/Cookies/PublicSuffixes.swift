import CPSL

/// The Public Suffix List: under which names others register theirs (https://publicsuffix.org), by libpsl.
enum PublicSuffixes {
    /// The newer of the system's list and the one inside libpsl, as the address of libpsl's context.
    ///
    /// It is read once, never changed and never freed, and libpsl only reads it: any thread may ask.
    private static let list: UInt = UInt(bitPattern: psl_latest(nil) ?? psl_builtin())

    /// Whether names are registered right under this one.
    ///
    /// - Parameter name: A host name in lower-case ASCII. One without a dot counts as a public suffix.
    static func contains(_ name: String) -> Bool { registrableDomain(of: name) == nil }

    /// The part of a name that its owner registered: the public suffix and one label; `nil` when there is none.
    ///
    /// - Parameter name: A host name in lower-case ASCII, not an address.
    static func registrableDomain(of name: String) -> String? {
        let bare = name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
        guard !bare.isEmpty else { return nil }
        return bare.withCString { name in
            psl_registrable_domain(OpaquePointer(bitPattern: list), name).map { String(cString: $0) }
        }
    }
}

/// A site: a scheme and a registrable domain (https://html.spec.whatwg.org/#sites).
struct Site: Hashable {
    /// The scheme in lower case.
    let scheme: String
    /// The registrable domain, or the host where there is none, such as an address.
    let domain: String

    init(_ url: URLRecord) {
        scheme = url.scheme
        domain = Site.domain(of: url.host ?? "")
    }

    /// The registrable domain of a host, or the host itself.
    static func domain(of host: String) -> String {
        guard IPAddress(host: host) == nil else { return host }
        return PublicSuffixes.registrableDomain(of: host) ?? host
    }

    /// The site as text, such as `https://example.org`.
    var text: String { "\(scheme)://\(domain)" }
}
