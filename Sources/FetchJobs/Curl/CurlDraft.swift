import FetchEngine
import FoundationEssentials

/// The request that the options of a curl command describe, as far as it was read.
struct CurlDraft {
    /// A part of the request that an option says.
    enum Part: Sendable {
        case url, method, header, userAgent, referer, cookie
        case data, rawData, encodedData, json, query, get, head, form, formString, range
        case user, bearer, authentication(String), anyAuthentication
        case follow, stay, maximumRedirects, maximumTime, connectTimeout
        case proxy(String), proxyUser, noProxy
        case retries, httpVersion(String), minimumTLS(String), addressFamily(String), compressed, globOff
    }

    typealias Fault = CurlCommand.Fault

    private(set) var notes: [String] = []
    private var url: String?
    private var method: String?
    private var fields: [(name: String, value: String)] = []
    /// The names of fields that are to be left out, in lower case.
    private var withheld: Set<String> = []
    private var data: [String]?
    private var json: String?
    private var query: [String] = []
    private var form: [JSONValue] = []
    private var isGet = false
    private var isHead = false
    private var follows = false
    private var isCompressed = false
    private var isGlobOff = false
    private var user: String?
    private var schemes: [String] = []
    private var proxyUser: String?
    private var configuration: [(group: String, member: JSONMember)] = []

    private mutating func configure(_ group: String, _ name: String, _ value: JSONValue) {
        configuration.append((group, JSONMember(name, value)))
    }

    // MARK: Options

    mutating func take(url: String) throws(Fault) {
        guard self.url == nil else {
            throw Fault("The command has more than one URL, and a job has one: read them one by one.")
        }
        self.url = url
    }

    mutating func take(_ option: CurlOption, _ written: String, _ value: String) throws(Fault) {
        switch option.meaning {
        case .request(let part): try take(part, written, value)
        case .leftOut(let reason):
            // An option may come many times: `-vvv`.
            let note = reason.map { "\(written) is left out: \($0)." }
            if let note, !notes.contains(note) { notes.append(note) }
        case .refused(let reason): throw Fault(written, reason)
        }
    }

    private mutating func take(_ part: Part, _ written: String, _ value: String) throws(Fault) {
        switch part {
        case .url: try take(url: value)
        case .method: method = value
        case .header: try take(header: value, written)
        case .userAgent: if !value.isEmpty { set("User-Agent", value) }
        case .referer: takeReferer(value)
        case .cookie: try take(cookies: value, written)
        case .data:
            try requireInline(value, written)
            data = (data ?? []) + [value]
        case .rawData: data = (data ?? []) + [value]
        case .encodedData: data = (data ?? []) + [try Self.encoded(value, written)]
        case .json:
            try requireInline(value, written)
            json = (json ?? "") + value
        case .query: query.append(value.hasPrefix("+") ? String(value.dropFirst()) : try Self.encoded(value, written))
        case .get: isGet = true
        case .head: isHead = true
        case .form: form.append(try Self.part(value, written, isLiteral: false))
        case .formString: form.append(try Self.part(value, written, isLiteral: true))
        case .range: set("Range", "bytes=\(value)")
        case .bearer: set("Authorization", "Bearer \(value)")
        case .compressed: isCompressed = true
        case .globOff: isGlobOff = true
        case .follow: follows = true
        case .stay: follows = false
        case .user, .authentication, .anyAuthentication, .proxy, .proxyUser, .noProxy:
            try takeParty(part, written, value)
        case .maximumRedirects, .maximumTime, .connectTimeout, .retries, .httpVersion, .minimumTLS, .addressFamily:
            try takeTerms(part, written, value)
        }
    }

    /// Who asks, and through whom.
    private mutating func takeParty(_ part: Part, _ written: String, _ value: String) throws(Fault) {
        switch part {
        case .user:
            guard value.contains(":") else { throw Fault(written, "the password is missing: write user:password.") }
            user = value
        case .authentication(let scheme): schemes = [scheme]
        case .anyAuthentication: schemes = ["basic", "digest", "ntlm"]
        case .proxy(let scheme): try take(proxy: value, scheme, written)
        case .proxyUser: proxyUser = value
        default:
            let names = value.split(separator: ",").map { JSONValue.string(String($0.filter { $0 != " " })) }
            configure("proxy", "noProxy", .array(names))
        }
    }

    /// How it is made.
    private mutating func takeTerms(_ part: Part, _ written: String, _ value: String) throws(Fault) {
        switch part {
        case .maximumRedirects:
            guard let count = Int64(value) else { throw Fault(written, "the value is no number.") }
            configure("redirects", "maximum", .number(JSONNumber(count < 0 ? 100 : count)))
        case .maximumTime:
            configure("timeouts", "timeoutIntervalForResource", try Self.seconds(value, written))
        case .connectTimeout: configure("timeouts", "connect", try Self.seconds(value, written))
        case .retries:
            guard let count = Int64(value), (0..<1000).contains(count) else {
                throw Fault(written, "the value is no number of attempts.")
            }
            configure("retry", "maximumAttempts", .number(JSONNumber(count + 1)))
            let statuses: [Int64] = [408, 429, 500, 502, 503, 504]
            configure("retry", "statuses", .array(statuses.map { .number(JSONNumber($0)) }))
        case .httpVersion(let version): configure("connections", "httpVersion", .string(version))
        case .minimumTLS(let version): configure("tls", "minimumVersion", .string(version))
        case .addressFamily(let family): configure("connections", "addressFamily", .string(family))
        default: break
        }
    }

    // MARK: Fields

    private mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name.lowercased() == name.lowercased() }
        fields.append((name, value))
    }

    private func has(_ name: String) -> Bool {
        withheld.contains(name) || fields.contains { $0.name.lowercased() == name }
    }

    /// `Name: value`; `Name;` has an empty value, and `Name:` is one that curl leaves out.
    private mutating func take(header: String, _ written: String) throws(Fault) {
        guard !header.hasPrefix("@") else {
            throw Fault(written, "the fields are in a file, which is not in the command.")
        }
        guard let end = header.firstIndex(where: { $0 == ":" || $0 == ";" }) else {
            throw Fault(written, "a field is written Name: value.")
        }
        let name = String(header[..<end])
        let value = header[header.index(after: end)...].trimmed
        if header[end] == ":", value.isEmpty {
            withheld.insert(name.lowercased())
        } else {
            fields.append((name, String(value)))
        }
    }

    private mutating func takeReferer(_ value: String) {
        let text = value.hasSuffix(";auto") ? String(value.dropLast(5)) : value
        if !text.isEmpty { set("Referer", text) }
    }

    private mutating func take(cookies: String, _ written: String) throws(Fault) {
        guard !cookies.isEmpty else { return }
        guard cookies.contains("=") else {
            throw Fault(written, "the cookies are in a file; a session keeps cookies (POST /v1/cookies).")
        }
        if let index = fields.firstIndex(where: { $0.name == "Cookie" }) {
            fields[index].value += "; \(cookies)"
        } else {
            fields.append(("Cookie", cookies))
        }
    }

    // MARK: Body

    private func requireInline(_ value: String, _ written: String) throws(Fault) {
        guard value.hasPrefix("@") else { return }
        throw Fault(
            written, "the content is in a file, which is not in the command: store it as a blob (POST /v1/blobs).")
    }

    /// `content`, `=content` or `name=content`, with the content as `%XX` where it has to be.
    private static func encoded(_ value: String, _ written: String) throws(Fault) -> String {
        if let sign = value.firstIndex(of: "=") {
            let (name, content) = (value[..<sign], String(value[value.index(after: sign)...]))
            return name.isEmpty ? content.percentEncoded : "\(name)=\(content.percentEncoded)"
        }
        guard !value.contains("@") else {
            throw Fault(written, "the content is in a file, which is not in the command: write name=content.")
        }
        return value.percentEncoded
    }

    /// A part of a form of several parts.
    private static func part(_ value: String, _ written: String, isLiteral: Bool) throws(Fault) -> JSONValue {
        guard let sign = value.firstIndex(of: "="), sign > value.startIndex else {
            throw Fault(written, "a part is written name=content.")
        }
        let (name, content) = (value[..<sign], value[value.index(after: sign)...])
        if !isLiteral, content.hasPrefix("@") || content.hasPrefix("<") {
            throw Fault(
                written, "the content is in a file, which is not in the command: store it as a blob (POST /v1/blobs).")
        }
        if !isLiteral, content.contains(";type=") || content.contains(";filename=") {
            throw Fault(written, "types and names of parts are for files: write the job's request.body.multipart.")
        }
        return .object([JSONMember("name", .string(String(name))), JSONMember("text", .string(String(content)))])
    }

    private static func seconds(_ value: String, _ written: String) throws(Fault) -> JSONValue {
        guard let seconds = Double(value), seconds.isFinite else {
            throw Fault(written, "the value is no number of seconds.")
        }
        return .number(JSONNumber(seconds))
    }

    private mutating func take(proxy: String, _ scheme: String, _ written: String) throws(Fault) {
        var text = proxy.contains("://") ? proxy : "\(scheme)://\(proxy)"
        guard !text.contains("@") else { throw Fault(written, "name the proxy's user by -U user:password.") }
        while text.hasSuffix("/") { text.removeLast() }
        // curl's port for all kinds of proxies.
        let port = text.split(separator: ":").last ?? ""
        if port.isEmpty || !port.allSatisfy(\.isNumber) { text += ":1080" }
        configure("proxy", "url", .string(text))
    }

    // MARK: Job

    mutating func job() throws(Fault) -> JSONValue {
        let body = try body()
        var request = [JSONMember("url", .string(try target()))]
        let method = method ?? standardMethod(body)
        if method != "GET" { request.append(JSONMember("method", .string(method))) }
        try finishFields(body)
        if !fields.isEmpty { request.append(JSONMember("headers", .headerFields(fields))) }
        if let body { request.append(JSONMember("body", body)) }
        var members = [JSONMember("request", .object(request))]
        try finishConfiguration()
        let groups = grouped()
        if !groups.isEmpty { members.append(JSONMember("configuration", .object(groups))) }
        return .object(members)
    }

    private func standardMethod(_ body: JSONValue?) -> String { isHead ? "HEAD" : body == nil ? "GET" : "POST" }

    private func body() throws(Fault) -> JSONValue? {
        guard [data != nil, json != nil, !form.isEmpty].count(where: { $0 }) <= 1 else {
            throw Fault("Of -d, --json and -F a request can have one.")
        }
        if !form.isEmpty { return .object([JSONMember("multipart", .array(form))]) }
        guard !isGet, !isHead, let text = json ?? data?.joined(separator: "&") else { return nil }
        return .object([JSONMember("text", .string(text))])
    }

    /// The URL, with what -G and --url-query add to it.
    private func target() throws(Fault) -> String {
        guard var url, !url.isEmpty else { throw Fault("The command has no URL.") }
        if !url.contains("://") { url = "http://\(url)" }
        let path = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).dropFirst(3).first ?? ""
        if !isGlobOff, url.contains("{") || path.contains("[") {
            throw Fault("The URL has braces or brackets, which stand for several URLs; with -g they are themselves.")
        }
        let added = query + (isGet ? [json ?? data?.joined(separator: "&")].compactMap(\.self) : [])
        guard !added.isEmpty else { return url }
        let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let sign = !parts[0].contains("?") ? "?" : parts[0].hasSuffix("?") || parts[0].hasSuffix("&") ? "" : "&"
        return parts[0] + sign + added.joined(separator: "&") + parts.dropFirst().map { "#\($0)" }.joined()
    }

    /// Adds the fields that curl sends by itself, and takes away those that belong to the engine.
    private mutating func finishFields(_ body: JSONValue?) throws(Fault) {
        if json != nil {
            if !has("content-type") { fields.append(("Content-Type", "application/json")) }
            if !has("accept") { fields.append(("Accept", "application/json")) }
        } else if body?.member("text") != nil, !has("content-type") {
            fields.append(("Content-Type", "application/x-www-form-urlencoded"))
        }
        // As curl does: before the server has asked.
        if let user, isBasic, !has("authorization") {
            fields.append(("Authorization", "Basic \(Data(user.utf8).base64EncodedString())"))
        }
        // The service undoes codings by itself where the request asks for none.
        if isCompressed { fields.removeAll { $0.name.lowercased() == "accept-encoding" } }
        let host = url.map { Self.authority(of: $0) } ?? ""
        var left: [String] = []
        for field in fields where JobRequest.engineFields.contains(field.name.lowercased()) {
            if field.name.lowercased() == "host", field.value.lowercased() != host {
                throw Fault("-H", "Host is that of the URL, and cannot be another.")
            }
            left.append(field.name)
        }
        fields.removeAll { JobRequest.engineFields.contains($0.name.lowercased()) }
        if !left.isEmpty { notes.append("\(left.joined(separator: ", ")) is left out: the service sets it itself.") }
    }

    private static func authority(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        return rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
    }

    private mutating func finishConfiguration() throws(Fault) {
        if !follows { configure("redirects", "policy", .string("return")) }
        if let proxyUser {
            let parts = proxyUser.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw Fault("-U", "the password is missing: write user:password.") }
            configure("proxy", "credential", Self.credential(parts))
        }
        // Schemes but Basic begin with what the server says.
        guard let user, !isBasic else { return }
        configure(
            "authentication", "credential",
            Self.credential(user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)))
        configure("authentication", "methods", .array(schemes.map { .string($0) }))
    }

    private var isBasic: Bool { schemes.isEmpty || schemes == ["basic"] }

    private static func credential(_ parts: [Substring]) -> JSONValue {
        .credential(String(parts[0]), String(parts[1]))
    }

    /// The members of the configuration by their groups; of two that say the same, the later one counts.
    private func grouped() -> [JSONMember] {
        var groups: [JSONMember] = []
        for (group, member) in configuration {
            let index = groups.firstIndex { $0.name == group } ?? groups.endIndex
            var members: [JSONMember] = []
            if index < groups.endIndex, case .object(let known) = groups[index].value { members = known }
            members.removeAll { $0.name == member.name }
            members.append(member)
            let whole = JSONMember(group, .object(members))
            if index < groups.endIndex { groups[index] = whole } else { groups.append(whole) }
        }
        return groups
    }
}
