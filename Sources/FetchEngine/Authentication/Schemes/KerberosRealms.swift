import CGSSAPI
import Glibc
import Synchronization

/// The Kerberos realms of a service that loads for others, with the addresses of their key distribution centres.
///
/// By itself the library asks DNS for the centres of the realm in a user name, and connects to the addresses in the
/// answer. Here the operator names both, and nothing is looked up.
package struct KerberosRealms: Sendable, Hashable {
    private struct Centre: Hashable, CustomStringConvertible {
        let address: IPAddress
        let port: UInt16

        var description: String { address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)" }
    }

    /// Why realms cannot be used, in one sentence.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private var centres: [String: [Centre]] = [:]
    private static let port: UInt16 = 88

    /// Reads realms and judges their centres as targets are judged.
    ///
    /// - Parameter text: `REALM=ADDRESS ADDRESS:PORT, REALM=[ADDRESS]:PORT`; the port is 88 where none is named.
    package init(_ text: String, allowedBy policy: TargetPolicy) throws(Failure) {
        for rule in text.split(separator: ",") {
            let parts = rule.split(separator: "=", omittingEmptySubsequences: false).map { Self.word($0) }
            guard parts.count == 2, KerberosPrincipal.isRealm(parts[0]), centres[parts[0]] == nil else {
                throw Failure(description: "\"\(Self.word(rule))\" is not a realm, \"=\" and addresses")
            }
            var addresses: [Centre] = []
            for word in parts[1].split(separator: " ") { try addresses.append(Self.centre(word, policy)) }
            guard !addresses.isEmpty else { throw Failure(description: "\(parts[0]) has no address") }
            centres[parts[0]] = addresses
        }
    }

    /// Without the spaces around it.
    private static func word(_ text: Substring) -> String {
        text.split(separator: " ").joined(separator: " ")
    }

    private static func centre(_ word: Substring, _ policy: TargetPolicy) throws(Failure) -> Centre {
        let (host, port) = word.hostAndPort ?? (String(word), Self.port)
        guard let address = IPAddress(host: host) ?? IPAddress(host) else {
            throw Failure(description: "\"\(word)\" is not an address: names are not looked up for Kerberos")
        }
        let centre = Centre(address: address, port: port)
        do throws(TargetRefusal) { try TargetGuard(policy: policy).judge(address, port: port) } catch {
            throw Failure(description: "\(centre) is not a public address; GUARD_ALLOW=\(centre) opens it")
        }
        return centre
    }

    /// Whether a realm is one of these; their names are case-sensitive.
    func contains(_ realm: String) -> Bool { centres[realm] != nil }

    // MARK: In force

    private static let profile = Mutex<FileInMemory?>(nil)

    /// Makes these the realms of the process; to be called once, before other threads look at the environment.
    ///
    /// The library reads where its configuration is from the environment and from nowhere else, and so do those of its
    /// plugins that know of mechanisms.
    package func enter() throws(Failure) {
        guard let file = FileInMemory(Array(text.utf8)) else {
            throw Failure(description: "the system gives no file in memory")
        }
        Self.profile.withLock { $0 = file }
        setenv("KRB5_CONFIG", file.path, 1)
        setenv("GSS_MECH_CONFIG", "/dev/null", 1)
        for name in ["KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME"] { unsetenv(name) }
        guard cgssapi_is_configured_by(file.path) != 0 else {
            throw Failure(
                description: "the Kerberos library does not take its configuration from a program with privileges of "
                    + "its own (set-user-ID bits or capabilities of its file)")
        }
    }

    /// A `krb5.conf` with which the library looks up nothing and loads nothing.
    ///
    /// Tickets can be forwarded, and are where ``AuthenticationConfiguration/delegatesKerberosTickets`` says so.
    private var text: String {
        let realms = centres.sorted { $0.key < $1.key }.map { realm, centres in
            "    \(realm) = {\n" + centres.map { "        kdc = \($0)\n" }.joined() + "    }\n"
        }
        return """
            [libdefaults]
                dns_lookup_kdc = false
                dns_lookup_realm = false
                dns_uri_lookup = false
                dns_canonicalize_hostname = false
                rdns = false
                qualify_shortname = ""
                plugin_base_dir = /dev/null
                default_ccache_name = MEMORY:
                forwardable = true
                udp_preference_limit = 1
                request_timeout = 10s
            [realms]
            \(realms.joined())
            """
    }
}

extension Substring {
    /// An address and a port behind its last colon; nil where that colon is a part of an IPv6 address.
    fileprivate var hostAndPort: (String, UInt16)? {
        guard let colon = lastIndex(of: ":"), let port = UInt16(self[index(after: colon)...]),
            hasPrefix("[") || firstIndex(of: ":") == colon
        else { return nil }
        return (String(self[..<colon]), port)
    }
}
