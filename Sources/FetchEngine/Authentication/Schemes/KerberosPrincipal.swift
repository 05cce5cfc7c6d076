/// A user or service in a Kerberos realm, in the plain form that every library reads alike: `user@REALM`,
/// `service/host@REALM`.
///
/// The libraries know escapes: a backslash and an `n` would be a line break in a request to the key distribution centre.
/// Only ASCII letters, digits and `.`, `_`, `-`, `$`, `+` are accepted.
package struct KerberosPrincipal: Sendable, Hashable {
    /// The name, its components separated by slashes.
    package let name: String
    /// The realm; nil where it is left to the library's configuration.
    package let realm: String?

    private static let longest = 256
    private static let mostComponents = 3

    /// Reads a principal; nil when the text has another form.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard let name = parts.first, parts.count <= 2 else { return nil }
        let components = name.split(separator: "/", omittingEmptySubsequences: false)
        guard components.count <= Self.mostComponents, components.allSatisfy(Self.isComponent) else { return nil }
        let realm = parts.count == 2 ? String(parts[1]) : nil
        if let realm, !Self.isRealm(realm) { return nil }
        self.name = String(name)
        self.realm = realm
    }

    /// Whether a text may name a realm: labels of letters, digits, `-` and `_`, as those of domains are.
    static func isRealm(_ text: String) -> Bool {
        text.utf8.count <= 253
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                !label.isEmpty && label.utf8.allSatisfy { isPlain($0) || "-_".utf8.contains($0) }
            }
    }

    private static func isComponent(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isPlain($0) || "._-$+".utf8.contains($0) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte.isASCIIDigit }
}
