import HTTPTypes

@testable import FetchEngine

/// The readers of foreign bytes, each as a function that must return whatever the bytes are.
///
/// The fuzzer runs them (scripts/fuzz) and the tests replay its finds. The conditions on a result are checked with
/// `precondition`, so that breaking one is a find as well.
enum FuzzTarget: String, CaseIterable {
    case url
    case data
    case mediaType
    case responseHead
    case setCookie
    case cookieFile
    case challenges
    case ftpReply
    case cacheControl
    case cacheFile
    case contentDisposition
    case multipart
    case gzip
    case binHex
    case macBinary
    case resumeData
    case uploadResumeData
    case cookieStore
    case strictTransport
    case targetGuard
    case headerFields
    case jobJSON
    case contentRange
    case dates
    case keys
    case cursor
    case cron
    case rateLimit
    case digestFields
    case query
    case token
    case curl
    case serviceJSON
    case waitExpression
    case traceContext
    case provider
    case issuerKeys
    case clientFields
    case operations
    case xmlCall

    func run(_ bytes: [UInt8]) {
        switch self {
        case .targetGuard, .headerFields, .contentRange, .dates, .keys, .digestFields: runOnFields(bytes)
        case .jobJSON, .cursor, .cron, .rateLimit, .query, .token, .curl, .serviceJSON, .waitExpression, .traceContext,
            .provider, .issuerKeys, .clientFields, .operations, .xmlCall:
            runOnService(bytes)
        default: runOnAnswer(bytes)
        }
    }

    private func runOnAnswer(_ bytes: [UInt8]) {
        switch self {
        case .url: Self.url(String(decoding: bytes, as: UTF8.self))
        case .data: Self.data(String(decoding: bytes, as: UTF8.self))
        case .mediaType: Self.mediaType(String(decoding: bytes, as: UTF8.self))
        case .responseHead: Self.responseHead(bytes)
        case .setCookie: Self.setCookie(bytes)
        case .cookieFile: Self.cookieFile(bytes)
        case .challenges: Self.challenges(bytes)
        case .ftpReply: Self.ftpReply(bytes)
        case .cacheControl: Self.cacheControl(String(decoding: bytes, as: UTF8.self))
        case .cacheFile: Self.cacheFile(bytes)
        case .contentDisposition: Self.contentDisposition(bytes)
        case .multipart: Self.multipart(bytes)
        case .gzip: Self.decode(bytes, by: GzipDecoder.self)
        case .binHex: Self.decode(bytes, by: BinHexDecoder.self)
        case .macBinary: Self.decode(bytes, by: MacBinaryDecoder.self)
        case .resumeData: Self.resumeData(bytes)
        case .uploadResumeData: Self.uploadResumeData(bytes)
        case .cookieStore: Self.cookieStore(bytes)
        case .strictTransport: Self.strictTransport(String(decoding: bytes, as: UTF8.self))
        default: preconditionFailure("\(self) is read elsewhere")
        }
    }

    /// A parsed URL reads as itself, and so do the texts made of it.
    private static func url(_ text: String) {
        guard let url = try? URLRecord(text) else { return }
        precondition((try? URLRecord("\(url)")) == url)
        _ = (url.username, url.password, url.host, url.path, url.query, url.fragment, url.origin, url.redacted)
        precondition(!url.withoutCredentials().hasCredentials && url.withoutFragment().fragment == nil)
        _ = try? url.queryItems
        _ = try? url.formItems
        if let resolved = try? url.resolve(text) { precondition((try? URLRecord("\(resolved)")) == resolved) }
        if let base = try? URLRecord("http://host/a/b?c#d"), let resolved = try? base.resolve(text) {
            precondition((try? URLRecord("\(resolved)")) == resolved)
        }
        if let decoded = try? PercentCodec.decode(text) {
            precondition((try? PercentCodec.decode(PercentCodec.component(decoded))) == decoded)
        }
    }

    private static func data(_ text: String) {
        guard let url = try? URLRecord("data:" + text), let content = try? DataURL(url) else { return }
        precondition(MediaType("\(content.mediaType)") == content.mediaType)
    }

    /// A media type reads as itself.
    private static func mediaType(_ text: String) {
        guard let type = MediaType(text) else { return }
        precondition(MediaType("\(type)") == type)
        _ = ByteRange([text], length: 100)
    }

    private static func responseHead(_ bytes: [UInt8]) {
        var collector = HeadCollector(FieldNames())
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.withUnsafeBytes({ collector.append($0) }) { break }
        }
        _ = try? collector.head()
    }

    /// A cookie is never sent back longer than it came.
    private static func setCookie(_ bytes: [UInt8]) {
        _ = CookieDate.parse(bytes[...])
        for text in ["http://www.example.test/a/b", "https://1.2.3.4/", "https://example.test/"] {
            guard let url = try? URLRecord(text) else { continue }
            guard let cookie = try? Cookie(setCookie: bytes, from: url, at: UnixTime(microseconds: 0)) else { continue }
            let sent = Cookie.requestHeaderFields(with: [cookie])[fields: .cookie].first
            precondition((sent?.withUnsafeBytesOfValue(\.count) ?? 0) <= bytes.count + 1)
        }
    }

    private static func cookieFile(_ bytes: [UInt8]) {
        let file = NetscapeCookieFile(reading: bytes, at: UnixTime(microseconds: 0))
        precondition(file.cookies.count + file.rejectedLines.count <= bytes.count + 1)
    }

    /// The lines of one field, and the fields made of them.
    private static func challenges(_ bytes: [UInt8]) {
        var parser = AuthenticationFieldParser()
        var fields = HTTPFields()
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            parser.read(Array(line))
            fields.append(HTTPField(name: .wwwAuthenticate, lenientValue: line))
        }
        for challenge in parser.challenges {
            precondition(!challenge.scheme.isEmpty)
            if challenge.isBounded { _ = DigestChallenge(challenge) }
        }
        let server = ProtectionSpace.Party(host: "host", port: 80, scheme: "http")
        _ = AuthenticationOffer.all(in: fields, status: 401, server: server, proxy: nil)
    }

    private static func ftpReply(_ bytes: [UInt8]) {
        guard let reply = FTPReply(bytes) else { return }
        precondition((0...999).contains(reply.code))
        _ = FTPFailure.message(for: FTPFailure.code(at: .retrieve, reply: reply))
    }

    /// For any directives and dates, an age is never negative and something is decided.
    private static func cacheControl(_ text: String) {
        guard let url = try? URLRecord("http://host/") else { return }
        let lines = text.split(separator: "\n", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
        var fields = HTTPFields()
        let names = [HTTPField.Name.cacheControl, .age, .date, .expires, .lastModified, .vary]
        for (name, value) in zip(names, lines) { fields.append(HTTPField(name: name, value: value)) }
        let now = UnixTime(seconds: 1_700_000_000)
        let request = Request(url: url, headerFields: fields)
        let response = Response(url: url, status: .ok, headerFields: fields)
        guard let entry = CacheEntry(for: response, to: request, sentAt: now, receivedAt: now) else { return }
        precondition(entry.freshness.age(at: now) >= .zero)
        precondition(entry.selection.matches(fields))
        for policy in CachePolicy.allCases {
            var machine = CacheMachine(
                request: request, policy: policy, configuration: CachingConfiguration(), now: now)
            _ = machine.lookedUp([entry], now: now.advanced(by: .seconds(60)))
            _ = machine.received(response, now: now.advanced(by: .seconds(61)))
        }
    }

    /// Bytes that are read as an entry read as themselves.
    private static func cacheFile(_ bytes: [UInt8]) {
        guard let entry = CacheEntry(bytes: bytes[...]) else { return }
        precondition(CacheEntry(bytes: entry.bytes[...])?.key == entry.key)
    }
}
