package import FetchEngine

/// A credential in a session's store, as its owner sees it: without the secret.
package struct StoredCredential: Sendable {
    package enum IDKind: IdentifierKind {
        package static let prefix = "crd"
    }

    package typealias ID = Identifier<IDKind>

    /// The secret of the credential.
    package enum Kind: String, Sendable, CaseIterable {
        case password
        case bearerToken
        case clientCertificate
        case awsKeys
        case keytab
    }

    package let id: ID
    package let space: ProtectionSpace
    package let kind: Kind
    package let user: String
    package let persistence: Credential.Persistence
    package let isDefault: Bool
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// Nil while no server has refused it since it was stored.
    package let lastFailureAt: Timestamp?

    package init(
        id: ID, space: ProtectionSpace, kind: Kind, user: String,
        persistence: Credential.Persistence, isDefault: Bool, createdAt: Timestamp, updatedAt: Timestamp,
        lastFailureAt: Timestamp?
    ) {
        self.id = id
        self.space = space
        self.kind = kind
        self.user = user
        self.persistence = persistence
        self.isDefault = isDefault
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.lastFailureAt = lastFailureAt
    }

    /// The host it answers to.
    package var host: String { space.host }

    /// The server or proxy, as an address.
    package var address: String { "\(space.scheme)://\(space.host):\(space.port)" }

    package var realm: String? { space.realm }

    /// How the server wants to be convinced.
    package var method: String { space.method.rawValue }

    package var isForProxy: Bool { space.isProxy }

    /// How long it is kept.
    package var lifetime: String { persistence.rawValue }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("protectionSpace", object: space.write)
        writer.member("kind", kind.rawValue)
        writer.member("user", user.isEmpty ? nil : user)
        writer.member("persistence", persistence.rawValue)
        writer.member("isDefault", isDefault)
        writer.member("createdAt", createdAt.description)
        writer.member("updatedAt", updatedAt.description)
        writer.member("lastFailureAt", lastFailureAt?.description)
    }
}

extension Credential {
    /// Its kind; nil for a credential that is made for a single answer and never stored.
    package var kind: StoredCredential.Kind? {
        if password != nil { return .password }
        if bearerToken != nil { return .bearerToken }
        if awsKeys != nil { return .awsKeys }
        if kerberosKeys != nil { return .keytab }
        return identity == nil ? nil : .clientCertificate
    }
}

extension ProtectionSpace {
    /// The methods that the service answers with stored credentials.
    static let storedMethods: [Method] = [
        .default, .httpBasic, .httpDigest, .httpBearer, .ntlm, .negotiate, .clientCertificate, .awsSigV4,
    ]

    package func write(_ writer: inout JSONWriter) {
        writer.member("host", host)
        writer.member("port", Int(port))
        writer.member("protocol", scheme)
        writer.member("realm", realm)
        writer.member("authenticationMethod", method.rawValue)
        writer.member("isProxy", isProxy)
    }

    package var json: RawJSON { RawJSON(JSONWriter.object(write)) }

    /// Reads a space, and reports errors to the check.
    init?(reader: JSONReader) {
        let names: Set = ["host", "port", "protocol", "realm", "authenticationMethod", "isProxy"]
        guard let object = reader.object(of: names) else { return nil }
        let isProxy = object["isProxy"]?.bool() ?? false
        let host = object.required("host").flatMap { Self.host($0) }
        let scheme = object["protocol"].map { Self.scheme($0, isProxy: isProxy) } ?? "https"
        let port = object["port"].map { $0.integer(in: 1...65_535).map { UInt16($0) } }
        let realm = object["realm"].map { $0.string(maximumLength: 1024) }
        let method = object.required("authenticationMethod").flatMap { Self.method($0) }
        guard let host, let scheme, let method else { return nil }
        self.init(
            host: host, port: port.flatMap { $0 } ?? Self.ports[scheme] ?? 0, scheme: scheme,
            realm: realm.flatMap { $0 }, method: method, isProxy: isProxy)
        check(reader)
    }

    /// Tells which rules between members are broken.
    private func check(_ reader: JSONReader) {
        if method == .clientCertificate, scheme != "https" || isProxy {
            reader.refuse("a client certificate is shown by https only, and to servers")
        }
        if method == .awsSigV4, isProxy { reader.refuse("the method \"awsSigV4\" is for servers") }
        if (method == .default) != ["ftp", "ftps", "socks"].contains(where: scheme.hasPrefix) {
            reader.refuse("the method \"default\" is that of ftp, ftps and SOCKS, which have no other")
        }
        if realm != nil, ![.httpBasic, .httpDigest, .httpBearer].contains(method) {
            reader.refuse("a realm is named by the methods httpBasic, httpDigest and httpBearer only")
        }
    }

    /// The host in the form of URLs: in lower-case ASCII, an IPv6 address in brackets.
    private static func host(_ reader: JSONReader) -> String? {
        guard let text = reader.string(maximumLength: 1024) else { return nil }
        let isBare = !text.contains { "/?#@\\".contains($0) }
        guard isBare, let url = try? URLRecord("https://\(text)/"), let host = url.host, url.port == nil else {
            reader.refuse("is not a host name or an address")
            return nil
        }
        return host
    }

    /// The default ports of the protocols.
    private static let ports: [String: UInt16] = [
        "http": 80, "https": 443, "ftp": 21, "ftps": 990, "socks4": 1080, "socks4a": 1080, "socks5": 1080,
        "socks5h": 1080,
    ]

    private static func scheme(_ reader: JSONReader, isProxy: Bool) -> String? {
        guard let text = reader.string(maximumLength: 16) else { return nil }
        let known = isProxy ? Proxy.Kind.allCases.map(\.rawValue) : ["http", "https", "ftp", "ftps"]
        guard known.contains(text) else {
            let names = known.map { "\"\($0)\"" }.joined(separator: ", ")
            reader.refuse("must be one of \(names)\(isProxy ? " for a proxy" : "")")
            return nil
        }
        return text
    }

    private static func method(_ reader: JSONReader) -> Method? {
        guard let method = reader.oneOf(Method.self) else { return nil }
        guard storedMethods.contains(method) else {
            let known = storedMethods.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            reader.refuse("must be one of \(known)")
            return nil
        }
        return method
    }
}
