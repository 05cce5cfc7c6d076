import HTTPTypes

/// The cache directives of a request (RFC 9111 §5.2.1).
struct CacheDirectives: Sendable {
    let noStore: Bool
    let noCache: Bool
    let onlyIfCached: Bool
    let maxAge: Duration?
    let minFresh: Duration?
    /// How long past its lifetime an answer may be; nil for not at all.
    let maxStale: Duration?
    let staleIfError: Duration

    init(_ fields: HTTPFields) {
        let control = CacheControl(fields)
        noStore = control.contains("no-store")
        // Pragma is the request's older name for it (§5.4).
        noCache =
            control.contains("no-cache")
            || control.isEmpty && CacheControl(fields[values: .pragma]).contains("no-cache")
        onlyIfCached = control.contains("only-if-cached")
        maxAge = control.seconds("max-age")
        minFresh = control.seconds("min-fresh")
        // Without an argument any age will do.
        maxStale =
            control.isBare("max-stale") ? .seconds(CacheControl.maximumSeconds) : control.seconds("max-stale")
        staleIfError = control.seconds("stale-if-error") ?? .zero
    }
}

extension HTTPField.Name {
    static let pragma = Self("Pragma")!
}
