package import FetchEngine
import FoundationEssentials

// Credentials as clients write them. They are never written back.
extension Credential {
    static let members: Set = [
        "user", "password", "bearerToken", "certificateChain", "privateKey", "pkcs12", "passphrase", "accessKeyID",
        "secretAccessKey", "sessionToken", "region", "service", "keytab",
    ]

    /// The members that become part of one line of a request.
    private static let lines = ["user", "password", "bearerToken", "secretAccessKey", "sessionToken"]
    /// The members that commas, slashes and the like would end.
    private static let words = ["accessKeyID", "region", "service"]

    /// Reads the members of one kind; the check gets a violation for any other.
    init?(members object: JSONObjectReader, of reader: JSONReader, persistence: Persistence) {
        let kinds = [
            ("password", ["user", "password"]), ("bearerToken", ["bearerToken"]),
            ("certificateChain", ["certificateChain", "privateKey", "passphrase"]),
            ("pkcs12", ["pkcs12", "passphrase"]),
            ("secretAccessKey", ["accessKeyID", "secretAccessKey", "sessionToken", "region", "service"]),
            ("keytab", ["user", "keytab"]),
        ]
        let chosen = kinds.filter { object[$0.0] != nil }
        guard chosen.count == 1, let kind = chosen.first else {
            reader.refuse(
                "must have one of password, bearerToken, certificateChain, pkcs12, secretAccessKey and keytab")
            return nil
        }
        for name in Self.members where !kind.1.contains(name) {
            object[name]?.refuse("does not go with \(kind.0)")
        }
        for name in Self.lines { object[name]?.requireLine() }
        for name in Self.words { object[name]?.requireWord() }
        let credential: Credential? =
            switch kind.0 {
            case "password": Self.password(object, persistence)
            case "bearerToken":
                object["bearerToken"]?.secret().map { Credential(bearerToken: $0, persistence: persistence) }
            case "secretAccessKey":
                object.required("accessKeyID")?.string(maximumLength: 128).flatMap { id in
                    Self.awsKeys(object).map { Credential(accessKeyID: id, awsKeys: $0, persistence: persistence) }
                }
            case "keytab":
                object.required("user")?.kerberosPrincipal().flatMap { principal in
                    Self.keytab(object).map {
                        Credential(kerberosPrincipal: principal, keys: $0, persistence: persistence)
                    }
                }
            default: Self.identity(object, of: reader).map { Credential(identity: $0, persistence: persistence) }
            }
        guard let credential else { return nil }
        self = credential
    }

    private static func password(_ object: JSONObjectReader, _ persistence: Persistence) -> Credential? {
        let user = object.required("user")?.string(maximumLength: 1024)
        guard let password = object["password"]?.secret(), let user else { return nil }
        return Credential(user: user, password: password, persistence: persistence)
    }

    /// The content of a file of Kerberos keys, which begins with its version.
    private static func keytab(_ object: JSONObjectReader) -> [UInt8]? {
        guard let reader = object["keytab"], let text = reader.secret() else { return nil }
        guard let bytes = Data(base64Encoded: text), bytes.count > 2, bytes[0] == 5, [1, 2].contains(bytes[1]) else {
            reader.refuse("is not a keytab in base64")
            return nil
        }
        return Array(bytes)
    }

    private static func awsKeys(_ object: JSONObjectReader) -> AWSKeys? {
        let token = object["sessionToken"].map { $0.secret() } ?? .some(nil)
        let region = object.required("region")?.string(maximumLength: 64)
        let service = object.required("service")?.string(maximumLength: 64)
        guard let secret = object["secretAccessKey"]?.secret(), let token, let region, let service else { return nil }
        return AWSKeys(secretAccessKey: secret, sessionToken: token, region: region, service: service)
    }

    static func identity(_ object: JSONObjectReader, of reader: JSONReader) -> ClientIdentity? {
        let passphrase = object["passphrase"].map { $0.secret() } ?? .some(nil)
        do throws(LoadError) {
            if let file = object["pkcs12"] {
                guard let text = file.secret(), let passphrase else { return nil }
                guard let bytes = Data(base64Encoded: text) else {
                    file.refuse("is not base64")
                    return nil
                }
                return try ClientIdentity(pkcs12: Array(bytes), passphrase: passphrase ?? "")
            }
            let chain = object["certificateChain"]?.secret()
            guard let key = object.required("privateKey")?.secret(), let chain, let passphrase else { return nil }
            return try ClientIdentity(
                certificateChain: Array(chain.utf8), privateKey: Array(key.utf8), passphrase: passphrase)
        } catch {
            if error.code == .clientIdentityTooCostly {
                (object["pkcs12"] ?? object["privateKey"] ?? reader).refuse("costs too much: \(error.message)")
            } else {
                reader.refuse("holds no certificate with its private key")
            }
        }
        return nil
    }

    // MARK: As it is sealed

    /// The secret in the form that is sealed; nil for a kind that is never stored.
    package var secretBytes: [UInt8]? {
        if let password { return Self.object("password", password) }
        if let bearerToken { return Self.object("bearerToken", bearerToken) }
        if let kerberosKeys { return Self.object("keytab", Data(kerberosKeys).base64EncodedString()) }
        if let awsKeys {
            return JSONWriter.object { writer in
                writer.member("secretAccessKey", awsKeys.secretAccessKey)
                writer.member("sessionToken", awsKeys.sessionToken)
                writer.member("region", awsKeys.region)
                writer.member("service", awsKeys.service)
            }
        }
        guard let identity else { return nil }
        return JSONWriter.object { writer in
            writer.member("certificateChain", String(decoding: identity.certificateChainPEM, as: UTF8.self))
            writer.member("privateKey", String(decoding: identity.privateKeyPEM, as: UTF8.self))
        }
    }

    private static func object(_ name: String, _ value: String) -> [UInt8] {
        JSONWriter.object { $0.member(name, value) }
    }

    /// The credential that was sealed.
    ///
    /// - Throws: ``InvalidInput`` when the bytes are none.
    package init(secretBytes: [UInt8], user: String, persistence: Persistence) throws {
        let check = InputCheck()
        let reader = JSONReader(try JSONParser.parse(secretBytes), check: check)
        guard let object = reader.object(of: Self.members) else { throw InvalidInput(check.violations) }
        if let password = object["password"]?.secret() {
            self.init(user: user, password: password, persistence: persistence)
        } else if let token = object["bearerToken"]?.secret() {
            self.init(bearerToken: token, persistence: persistence)
        } else if object["keytab"] != nil, let keys = Self.keytab(object) {
            self.init(kerberosPrincipal: user, keys: keys, persistence: persistence)
        } else if object["secretAccessKey"] != nil, let keys = Self.awsKeys(object) {
            self.init(accessKeyID: user, awsKeys: keys, persistence: persistence)
        } else if let identity = Self.identity(object, of: reader) {
            self.init(identity: identity, persistence: persistence)
        } else {
            throw InvalidInput(pointer: "", message: "is not a credential")
        }
    }
}

extension JSONReader {
    /// Refuses a text with control characters, line breaks too.
    fileprivate func requireLine() {
        guard case .string(let text) = value else { return }
        if !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) { refuse("must not hold control characters") }
    }

    /// Refuses a text with other than visible ASCII characters, or with one that ends a word.
    fileprivate func requireWord() {
        guard case .string(let text) = value else { return }
        if !text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !",/=".utf8.contains($0) }) {
            refuse("must be visible ASCII characters other than a comma, a slash and an equals sign")
        }
    }

    /// A text that is never shown again; it may have no control characters but those of PEM.
    func secret() -> String? {
        guard let text = string(maximumLength: 65_536) else { return nil }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D }) else {
            refuse("must not hold control characters")
            return nil
        }
        return text
    }
}

extension JSONReader {
    /// The principal that goes with Kerberos keys, in the one form that is read alike everywhere.
    func kerberosPrincipal() -> String? {
        guard let text = string(maximumLength: 256) else { return nil }
        guard KerberosPrincipal(text)?.realm != nil else {
            refuse("is not a Kerberos principal: user@REALM, of letters, digits and . _ - $ +")
            return nil
        }
        return text
    }
}

/// A credential that a client stores, and where it is to answer.
package struct CredentialSubmission: Sendable {
    package let session: TenantSession.ID
    package let space: ProtectionSpace
    package let credential: Credential
    /// Whether jobs use it when its space has several.
    package let isDefault: Bool

    /// Reads and checks the body of a request.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let names = Credential.members.union(["session", "protectionSpace", "persistence", "isDefault"])
        let reader = JSONReader(json, check: check)
        let object = reader.object(of: names)
        let session = object?["session"].map { $0.session() } ?? .default
        let space = object?.required("protectionSpace").flatMap { ProtectionSpace(reader: $0) }
        let persistence = object?["persistence"].map { Self.persistence($0) } ?? .permanent
        isDefault = object?["isDefault"]?.bool() ?? true
        let credential = object.flatMap { object in
            Credential(members: object, of: reader, persistence: persistence ?? .permanent)
        }
        if let space, let credential, !credential.answers(space.method) {
            check.refuse("/protectionSpace/authenticationMethod", "cannot be answered with a credential of this kind")
        }
        if space?.method == .negotiate, object?["keytab"] == nil { _ = object?["user"]?.kerberosPrincipal() }
        try check.finish()
        guard let space, let credential else { throw InvalidInput(pointer: "", message: "is not a credential") }
        self.session = credential.persistence == .permanent ? .default : session ?? .default
        self.space = space
        self.credential = credential
    }

    private static func persistence(_ reader: JSONReader) -> Credential.Persistence? {
        guard let persistence = reader.persistence() else { return nil }
        guard persistence != .none else {
            reader.refuse("must be \"forSession\" or \"permanent\": a credential for one request goes with its job")
            return nil
        }
        return persistence
    }
}

extension JSONReader {
    /// How long a credential is kept; `synchronizable` is `permanent` here: no other devices share it (BEY-22).
    func persistence() -> Credential.Persistence? {
        oneOf(Credential.Persistence.self).map { $0 == .synchronizable ? .permanent : $0 }
    }
}

extension Credential {
    /// Whether this kind can answer a method at all.
    func answers(_ method: ProtectionSpace.Method) -> Bool {
        switch method {
        case .clientCertificate: kind == .clientCertificate
        default: fits(method)
        }
    }
}
