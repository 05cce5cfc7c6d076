import FetchEngine
import HTTPTypes

extension Question.Conditions {
    /// So many values a condition may name.
    private static let maximumValues = 32

    /// Reads a `when` for questions of a kind; the check hears of conditions that cannot apply to it.
    init(reader: JSONReader, for kind: Question.Kind) {
        self.init()
        let names = Question.Condition.Name.allCases
        let known = kind.conditions
        let others = names.filter { !known.contains($0) }.map {
            (key: $0.rawValue, value: "cannot apply to \(kind.rawValue)")
        }
        guard let object = reader.object(of: Set(known.map(\.rawValue)), refusing: others) else { return }
        self.init(
            names.filter(known.contains).compactMap { name in
                object[name.rawValue].flatMap { Question.Condition(name, reader: $0) }
            })
    }

    /// Reads what ``write(_:)`` has written of questions of a kind.
    package init(stored json: JSONValue, for kind: Question.Kind) throws(InvalidInput) {
        let check = InputCheck()
        self.init(reader: JSONReader(json, check: check), for: kind)
        try check.finish()
    }

    package var json: RawJSON { RawJSON(JSONWriter.object(write)) }

    func write(_ writer: inout JSONWriter) {
        for condition in all {
            writer.name(condition.name.rawValue)
            condition.write(&writer)
        }
    }

    fileprivate static func oneOrMore<Value>(_ reader: JSONReader, _ read: (JSONReader) -> Value?) -> [Value]? {
        guard case .array = reader.value else { return read(reader).map { [$0] } }
        guard let elements = reader.array(maximum: maximumValues) else { return nil }
        if elements.isEmpty { reader.refuse("must have at least one element") }
        let values = elements.compactMap(read)
        return values.count == elements.count ? values : nil
    }
}

extension Question.Condition {
    fileprivate init?(_ name: Name, reader: JSONReader) {
        let condition: Self? =
            switch name {
            case .url: Question.URLPattern(reader: reader).map { .url($0) }
            case .from: Question.URLPattern(reader: reader).map { .from($0) }
            case .to: Question.URLPattern(reader: reader).map { .to($0) }
            case .crossOrigin: reader.bool().map { .crossOrigin($0) }
            case .downgrade: reader.bool().map { .downgrade($0) }
            case .isProxy: reader.bool().map { .isProxy($0) }
            case .hasProposedCredential: reader.bool().map { .hasProposedCredential($0) }
            case .hop: Question.Bounds(reader: reader, from: 1).map { .hop($0) }
            case .contentLength: Question.Bounds(reader: reader, from: 0).map { .contentLength($0) }
            case .previousFailureCount: Question.Bounds(reader: reader, from: 0).map { .previousFailureCount($0) }
            case .attempt: Question.Bounds(reader: reader, from: 1).map { .attempt($0) }
            case .method: Question.Conditions.oneOrMore(reader, Self.method).map { .method($0) }
            case .status: Question.Conditions.oneOrMore(reader, Question.StatusPattern.init).map { .status($0) }
            case .contentType: Question.Conditions.oneOrMore(reader, Self.mediaRange).map { .contentType($0) }
            case .authenticationMethod:
                Question.Conditions.oneOrMore(reader, Self.authenticationMethod).map { .authenticationMethod($0) }
            case .realm: Question.Conditions.oneOrMore(reader) { $0.string(maximumLength: 1024) }.map { .realm($0) }
            case .trustError:
                Question.Conditions.oneOrMore(reader) { $0.oneOf(Question.TrustError.self) }.map { .trustError($0) }
            case .spki: Question.Conditions.oneOrMore(reader, Self.fingerprint).map { .spki($0) }
            case .server: Question.URLPattern(reader: reader, members: ["scheme", "host", "port"]).map { .server($0) }
            case .chainSHA256:
                Question.Conditions.oneOrMore(reader, Self.fingerprint).map { .chainSHA256($0) }
            case .header: Self.header(reader)
            case .suggestedFilename: reader.glob().map { .suggestedFilename($0) }
            case .labels: Self.labels(reader)
            }
        guard let condition else { return nil }
        self = condition
    }

    private static func method(_ reader: JSONReader) -> String? {
        guard let text = reader.string(maximumLength: 32) else { return nil }
        guard HTTPRequest.Method(text) != nil else {
            reader.refuse("must be a token (RFC 9110 §9.1) (methodInvalid)")
            return nil
        }
        return text
    }

    private static func mediaRange(_ reader: JSONReader) -> Configuration.MIMETypePattern? {
        guard let text = reader.string(maximumLength: 127) else { return nil }
        let pattern = Configuration.MIMETypePattern(text)
        if pattern == nil { reader.refuse("must be a MIME type, a type and \"/*\", or \"*/*\"") }
        return pattern
    }

    private static let authenticationMethods: [ProtectionSpace.Method] = [
        .default, .httpBasic, .httpDigest, .httpBearer, .ntlm, .negotiate, .clientCertificate,
    ]

    private static func authenticationMethod(_ reader: JSONReader) -> ProtectionSpace.Method? {
        guard let method = reader.oneOf(ProtectionSpace.Method.self) else { return nil }
        guard authenticationMethods.contains(method) else {
            let known = authenticationMethods.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            reader.refuse("must be one of \(known)")
            return nil
        }
        return method
    }

    private static func fingerprint(_ reader: JSONReader) -> Fingerprint? {
        guard let text = reader.string(maximumLength: 128) else { return nil }
        let fingerprint = Fingerprint(text)
        if fingerprint == nil { reader.refuse("must be a SHA-256 in base64 or hexadecimal digits") }
        return fingerprint
    }

    private static func header(_ reader: JSONReader) -> Self? {
        guard let members = reader.named() else { return nil }
        let patterns = members.compactMap { member -> Question.FieldPattern? in
            guard member.name.utf8.count <= 256, let name = HTTPField.Name(member.name), !member.name.hasPrefix(":")
            else {
                member.reader.refuse("has a name that is no token (RFC 9110 §5.1) (headerInvalid)")
                return nil
            }
            guard !Redaction.hides(fieldNamed: name.rawName) else {
                member.reader.refuse("must not look at \(name.rawName): its value is a secret (headerForbidden)")
                return nil
            }
            return member.reader.glob().map { Question.FieldPattern(name, $0) }
        }
        return patterns.count == members.count ? .header(patterns) : nil
    }

    private static func labels(_ reader: JSONReader) -> Self? {
        guard let members = reader.named() else { return nil }
        let labels = members.compactMap { JobSpec.Label(name: $0.name, reader: $0.reader) }
        return labels.count == members.count ? .labels(labels) : nil
    }

    fileprivate func write(_ writer: inout JSONWriter) {
        switch self {
        case .url(let pattern), .from(let pattern), .to(let pattern), .server(let pattern): writer.object(pattern.write)
        case .crossOrigin(let wanted), .downgrade(let wanted), .isProxy(let wanted),
            .hasProposedCredential(let wanted):
            writer.value(wanted)
        case .hop(let bounds), .contentLength(let bounds), .previousFailureCount(let bounds), .attempt(let bounds):
            writer.object { writer in
                writer.member("min", bounds.minimum)
                writer.member("max", bounds.maximum)
            }
        case .method(let texts), .realm(let texts): writer.array { writer in texts.forEach { writer.value($0) } }
        case .status(let patterns): writer.array { writer in patterns.forEach { $0.write(&writer) } }
        case .contentType(let patterns): writer.array { writer in patterns.forEach { writer.value($0.text) } }
        case .authenticationMethod(let methods):
            writer.array { writer in methods.forEach { writer.value($0.rawValue) } }
        case .trustError(let errors): writer.array { writer in errors.forEach { writer.value($0.rawValue) } }
        case .spki(let pins), .chainSHA256(let pins):
            writer.array { writer in pins.forEach { writer.value($0.description) } }
        case .header(let patterns):
            writer.object { writer in patterns.forEach { writer.member($0.name.rawName, $0.value.description) } }
        case .suggestedFilename(let glob): writer.value(glob.description)
        case .labels(let labels): writer.object { JobSpec.write(labels, &$0) }
        }
    }
}

extension Question.Bounds {
    /// - Parameter least: The least value of either bound.
    fileprivate init?(reader: JSONReader, from least: Int64) {
        guard let object = reader.object(of: ["min", "max"]) else { return nil }
        let range = least...(1 << 50)
        self.init(minimum: object["min"]?.integer(in: range), maximum: object["max"]?.integer(in: range))
        if object["min"] == nil, object["max"] == nil { reader.refuse("must have \"min\", \"max\" or both") }
        if let minimum, let maximum, maximum < minimum { reader.refuse("must not have a max below its min") }
    }
}

extension Question.StatusPattern {
    fileprivate init?(reader: JSONReader) {
        if case .string(let text) = reader.value {
            guard text.utf8.count == 3, text.hasSuffix("xx"), let family = text.first?.wholeNumberValue,
                (1...5).contains(family)
            else {
                reader.refuse("must be a status, or one of \"1xx\" to \"5xx\"")
                return nil
            }
            self = .family(family)
            return
        }
        guard let code = reader.integer(in: 100...599) else { return nil }
        self = .code(Int(code))
    }

    fileprivate func write(_ writer: inout JSONWriter) {
        switch self {
        case .code(let code): writer.value(code)
        case .family(let family): writer.value("\(family)xx")
        }
    }
}

extension Question.URLPattern {
    private static let members = ["scheme", "host", "port", "path", "exactPath"]

    /// - Parameter names: The parts that can be asked for.
    fileprivate init?(reader: JSONReader, members names: [String] = members) {
        guard let object = reader.object(of: Set(names)) else { return nil }
        self.init()
        scheme = object["scheme"].flatMap { Self.scheme($0) }
        host = object["host"].flatMap { Host(reader: $0) }
        port = object["port"]?.integer(in: 1...65_535).map { UInt16($0) }
        path = object["path"].flatMap { Self.path($0) }
        exactPath = object["exactPath"].flatMap { Self.path($0) }
        if names.allSatisfy({ object[$0] == nil }) {
            reader.refuse("must have at least one of \(names.joined(separator: ", "))")
        }
        if path != nil, exactPath != nil { reader.refuse("must not have both path and exactPath") }
    }

    private static func scheme(_ reader: JSONReader) -> String? {
        guard let text = reader.string(maximumLength: 32) else { return nil }
        guard text.wholeMatch(of: #/[A-Za-z][A-Za-z0-9+.\-]*/#) != nil else {
            reader.refuse("must be the scheme of a URL, such as \"https\"")
            return nil
        }
        return text.lowercased()
    }

    private static func path(_ reader: JSONReader) -> String? {
        guard let text = reader.string(maximumLength: 2048) else { return nil }
        guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"?#".utf8.contains($0) })
        else {
            reader.refuse(
                "must be a path, or how one begins: a slash first, percent-encoded, without query and fragment")
            return nil
        }
        return text
    }

    func write(_ writer: inout JSONWriter) {
        writer.member("scheme", scheme)
        writer.member("host", host?.text)
        writer.member("port", port)
        writer.member("path", path)
        writer.member("exactPath", exactPath)
    }
}

extension Question.URLPattern.Host {
    /// A host as URLs spell it, or `.` and a host: that one, and every host below it.
    fileprivate init?(reader: JSONReader) {
        guard let text = reader.string(maximumLength: 254) else { return nil }
        let includesSubdomains = text.hasPrefix(".")
        let bare = includesSubdomains ? String(text.dropFirst()) : text
        guard !bare.isEmpty, !bare.hasPrefix("."), !bare.contains(where: { "/?#@\\".contains($0) }),
            let url = try? URLRecord("http://\(bare)/"), url.port == nil, let name = url.host, !name.isEmpty
        else {
            reader.refuse("must be a host, or \".\" and a host (hostInvalid)")
            return nil
        }
        self.init(name, includesSubdomains: includesSubdomains)
    }

    fileprivate var text: String { includesSubdomains ? "." + name : name }
}

extension JSONReader {
    /// A text with `*` for any characters.
    fileprivate func glob() -> Glob? { string(maximumLength: 256).map { Glob($0) } }

    /// One member or more with free names.
    fileprivate func named() -> [(name: String, reader: JSONReader)]? {
        guard let members = dictionary() else { return nil }
        guard (1...32).contains(members.count) else {
            refuse("must have 1 to 32 members")
            return nil
        }
        return members
    }
}
