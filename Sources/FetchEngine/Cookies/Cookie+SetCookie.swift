public import HTTPTypes

extension Cookie {
    /// The longest a cookie may live: 400 days (RFC 6265bis §5.5).
    static let maximumAge: Int64 = 400 * 86400
    /// How many cookies are taken from one answer.
    static let maximumPerAnswer = 50

    /// Reads one `Set-Cookie` line and judges it by all rules that need no storage (RFC 6265bis §5.6 and §5.7).
    ///
    /// Any bytes may be given. A lifetime is cut to 400 days; `Max-Age` goes before `Expires`.
    ///
    /// - Parameters:
    ///   - line: The field's value.
    ///   - context: The request that was answered with it.
    ///   - now: The time of the answer.
    /// - Throws: The first rule it breaks.
    public init(
        setCookie line: [UInt8], from context: CookieContext, at now: UnixTime = .now
    ) throws(CookieRejection) {
        let line = try SetCookie(line)
        guard !context.host.isEmpty, context.url.isHTTP else { throw .notHTTP }
        let domain = try Self.domain(of: line, from: context)
        let path = line.path.map { String(decoding: $0, as: UTF8.self) }
        self.init(
            nameBytes: Array(line.name), valueBytes: Array(line.value), domain: domain ?? context.host,
            isHostOnly: domain == nil, path: path ?? context.defaultPath, expires: Self.expiry(of: line, at: now),
            isSecure: line.isSecure, isHTTPOnly: line.isHTTPOnly,
            sameSite: line.sameSite, partition: line.isPartitioned ? context.partition : nil, creationTime: now)
        if isSecure, !context.isSecure { throw .insecureOrigin }
        if sameSite == .strict || sameSite == .lax, !context.isSameSite { throw .crossSite }
        try checkAttributes(hasPath: path != nil)
    }

    /// Reads one `Set-Cookie` line that came from a URL, with no other main document.
    public init(setCookie line: [UInt8], from url: URLRecord, at now: UnixTime = .now) throws(CookieRejection) {
        try self.init(setCookie: line, from: CookieContext(url: url), at: now)
    }

    /// The domain the line asks for, or `nil` for the host alone.
    private static func domain(of line: SetCookie, from context: CookieContext) throws(CookieRejection) -> String? {
        guard !line.domain.isEmpty else { return nil }
        guard line.domain.allSatisfy({ $0 < 0x80 }) else { throw .domainInvalid }
        let domain = String(decoding: line.domain, as: UTF8.self)
        guard CookieContext.host(context.host, matches: domain) else { throw .domainMismatch }
        // An address has nothing below it.
        guard IPAddress(host: domain) == nil else { return nil }
        guard PublicSuffixes.contains(domain) else { return domain }
        // The server of a public suffix may set a cookie for itself alone.
        guard domain == context.host else { throw .publicSuffix }
        return nil
    }

    private static func expiry(of line: SetCookie, at now: UnixTime) -> UnixTime? {
        let latest = now.advanced(by: .seconds(maximumAge))
        if let seconds = line.maxAge {
            return seconds > 0 ? now.advanced(by: .seconds(min(seconds, maximumAge))) : UnixTime(microseconds: .min)
        }
        return line.expires.map { min($0, latest) }
    }
}

extension Cookie {
    /// Reads the `Set-Cookie` fields of an answer, one cookie each, and judges them by all rules that need no storage.
    ///
    /// Of one answer 50 are taken. The policy is the context's; a storage applies its own later.
    public static func verdicts(
        onResponseHeaderFields fields: HTTPFields, from context: CookieContext, at now: UnixTime = .now
    ) -> [CookieVerdict] {
        var accepted = 0
        return fields[fields: .setCookie].map { field in
            let line = field.withUnsafeBytesOfValue { Array($0) }
            do throws(CookieRejection) {
                let cookie = try Cookie(setCookie: line, from: context, at: now)
                guard accepted < maximumPerAnswer else { throw .tooMany }
                accepted += 1
                return .accepted(cookie)
            } catch {
                return .rejected(name: SetCookie.name(in: line), error)
            }
        }
    }

    /// The cookies that an answer sets, one for each `Set-Cookie` field that keeps the rules.
    public static func cookies(
        withResponseHeaderFields fields: HTTPFields, for url: URLRecord, at now: UnixTime = .now
    ) -> [Cookie] {
        verdicts(onResponseHeaderFields: fields, from: CookieContext(url: url), at: now).compactMap { verdict in
            if case .accepted(let cookie) = verdict { cookie } else { nil }
        }
    }

    /// The field that sends cookies, in the order given; none for no cookies.
    ///
    /// From the first cookie on that would make the value longer than 8192 bytes, cookies are left out.
    public static func requestHeaderFields(with cookies: [Cookie]) -> HTTPFields {
        var field = CookieField()
        field.append(cookies)
        var fields = HTTPFields()
        if !field.value.isEmpty { fields.append(HTTPField(name: .cookie, lenientValue: field.value)) }
        return fields
    }
}
