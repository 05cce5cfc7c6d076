/// A parsed URL, as the WHATWG URL standard defines it.
///
/// Parsing resolves dot segments, lower-cases and punycodes the host, drops a default port and percent-encodes the
/// characters that need it, so two texts for the same URL give equal records. The serialization is ASCII, and a record
/// keeps only that text and where its parts begin: copying one costs a reference count.
///
/// Hosts follow libidn2, which is stricter than the standard: symbols and emoji that IDNA 2008 forbids are refused.
///
/// ```swift
/// let base = try URLRecord("HTTP://Example.ORG:80/a/./b")  // http://example.org/a/b
/// let url = try base.resolve("../c?d#e")                   // http://example.org/c?d#e
/// print(url.scheme, url.withoutFragment())
/// ```
public struct URLRecord: Sendable {
    /// Where the parts of the serialization begin and end, as offsets of its UTF-8.
    struct Layout: Sendable {
        /// The colon after the scheme.
        var schemeEnd: UInt32 = 0
        /// The end of the user name; equal to `hostStart` when there are no credentials.
        var usernameEnd: UInt32 = 0
        /// The first byte of the host, after the `@` of credentials.
        var hostStart: UInt32 = 0
        var hostEnd: UInt32 = 0
        /// The end of the port, where a `/.` that keeps a path from looking like a host is not yet counted.
        var authorityEnd: UInt32 = 0
        var pathStart: UInt32 = 0
        /// The end of the path, and the question mark when there is a query.
        var queryStart: UInt32 = 0
        /// The end of the query, and the number sign when there is a fragment.
        var fragmentStart: UInt32 = 0
        var port: UInt16?
        var hasHost = false
        var hasOpaquePath = false
        /// The scheme, where it is one that has rules of its own.
        var special: SpecialScheme?
    }

    /// The whole URL as text, always ASCII.
    let text: String
    let layout: Layout

    init(text: String, layout: Layout) {
        self.text = text
        self.layout = layout
    }

    /// Parses an absolute URL.
    ///
    /// Throws a `Failure` naming the broken rule; a reference without a scheme is such a failure.
    public init(_ text: String) throws(URLRecord.Failure) {
        self = try URLParser.parse(text, base: nil)
    }

    /// Parses a reference, absolute or relative, against this URL.
    ///
    /// The result has no fragment unless the reference has one.
    public func resolve(_ reference: String) throws(URLRecord.Failure) -> URLRecord {
        try URLParser.parse(reference, base: self)
    }
}

extension URLRecord {
    /// The scheme in lower case, without the colon.
    public var scheme: String { slice(0, layout.schemeEnd) }

    /// The percent-encoded user name; empty when there is none.
    public var username: String {
        layout.usernameEnd < layout.hostStart ? slice(layout.schemeEnd + 3, layout.usernameEnd) : ""
    }

    /// The percent-encoded password; empty when there is none.
    public var password: String {
        layout.usernameEnd + 1 < layout.hostStart ? slice(layout.usernameEnd + 1, layout.hostStart - 1) : ""
    }

    /// Whether a user name or a password is present.
    public var hasCredentials: Bool { layout.usernameEnd < layout.hostStart }

    /// The host in ASCII, an IPv6 address in brackets, or `nil` when the URL has no authority.
    ///
    /// `file:///path` has an empty host.
    public var host: String? { layout.hasHost ? slice(layout.hostStart, layout.hostEnd) : nil }

    /// Whether there is a host that can be reached.
    var namesHost: Bool { layout.hostEnd > layout.hostStart }

    /// The port, or `nil` when absent or the scheme's default.
    public var port: UInt16? { layout.port }

    /// The host, with the port where that is not the scheme's default: the `host` of the URL Standard.
    package var hostAndPort: String? { host.map { host in port.map { "\(host):\($0)" } ?? host } }

    /// The port a connection goes to: the one given or the scheme's default; `nil` for schemes without one.
    public var effectivePort: UInt16? {
        if let port = layout.port { return port }
        if let special = layout.special { return special.defaultPort }
        return scheme == "ftps" ? 990 : nil
    }

    /// The percent-encoded path; for http it starts with a slash.
    public var path: String { slice(layout.pathStart, layout.queryStart) }

    /// Whether the path is one opaque text, as in `data:` and `mailto:`; nothing can be resolved against it.
    public var hasOpaquePath: Bool { layout.hasOpaquePath }

    /// The percent-encoded query without its question mark, or `nil` when absent.
    public var query: String? {
        layout.queryStart < layout.fragmentStart ? slice(layout.queryStart + 1, layout.fragmentStart) : nil
    }

    /// The percent-encoded fragment without its number sign, or `nil` when absent.
    public var fragment: String? {
        Int(layout.fragmentStart) < text.utf8.count ? slice(layout.fragmentStart + 1, UInt32(text.utf8.count)) : nil
    }

    /// Whether the scheme is http or https.
    public var isHTTP: Bool { layout.special == .http || layout.special == .https }

    /// Whether the scheme is ftp or ftps.
    package var isFTP: Bool { layout.special == .ftp || layout.special == nil && scheme == "ftps" }

    /// The scheme, host and port, which decide about sharing credentials, cookies and connections.
    public var origin: Origin {
        Origin(scheme: scheme, host: host ?? "", port: effectivePort)
    }

    /// Scheme, host, port and path: the parts that logs and messages may show.
    public var redacted: String {
        slice(0, layout.schemeEnd + 1) + (layout.hasHost ? "//" : "") + slice(layout.hostStart, layout.queryStart)
    }

    /// The text before the query.
    package var withoutQuery: String { slice(0, layout.queryStart) }

    /// The same URL with no fragment.
    public func withoutFragment() -> URLRecord {
        guard Int(layout.fragmentStart) < text.utf8.count else { return self }
        return URLRecord(text: slice(0, layout.fragmentStart), layout: layout)
    }

    /// The same URL with no user name and no password.
    public func withoutCredentials() -> URLRecord {
        guard hasCredentials else { return self }
        let start = layout.schemeEnd + 3
        let removed = layout.hostStart - start
        var moved = layout
        moved.usernameEnd = start
        moved.hostStart = start
        moved.hostEnd -= removed
        moved.authorityEnd -= removed
        moved.pathStart -= removed
        moved.queryStart -= removed
        moved.fragmentStart -= removed
        return URLRecord(text: slice(0, start) + slice(layout.hostStart, UInt32(text.utf8.count)), layout: moved)
    }

    /// The part of the serialization between two offsets.
    private func slice(_ start: UInt32, _ end: UInt32) -> String { Self.slice(text, start, end) }

    /// Given the text alone, for which the record is not copied.
    @inline(never)
    private static func slice(_ text: String, _ start: UInt32, _ end: UInt32) -> String {
        // The text is ASCII: every offset lies between two characters.
        let range = Int(start)..<Int(end)
        let part = text.utf8.withContiguousStorageIfAvailable { String(decoding: $0[range], as: UTF8.self) }
        if let part { return part }
        return String(decoding: Array(text.utf8)[range], as: UTF8.self)
    }
}

extension URLRecord: Hashable, CustomStringConvertible {
    /// The serialization, credentials and fragment included; `redacted` is for logs.
    public var description: String { text }

    /// Whether both serialize to the same text.
    public static func == (left: URLRecord, right: URLRecord) -> Bool { left.text == right.text }

    /// Hashes the serialization.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension URLRecord {
    /// The triple that browsers call an origin: URLs that share it share an owner.
    public struct Origin: Sendable, Hashable {
        /// The scheme in lower case.
        public let scheme: String
        /// The host in ASCII; empty when the URL has none.
        public let host: String
        /// The port connected to; `nil` for schemes without one.
        public let port: UInt16?
    }
}
