/// The hosts a rule is for.
///
/// - `name.example`: this host alone; `*.name.example`: every host below it; `*`: every host.
/// - `10.0.0.0/8`, `::1`, `[fd00::]/8`: addresses as they stand in a URL; names are not resolved for it.
/// - `<local>`: names without a dot.
/// - Each with a port or without: `name.example:8080`, `[::1]:8080`.
///
/// ```swift
/// configuration.proxies.exclusions = ["<local>", "10.0.0.0/8", "*.example.com"].compactMap { HostPattern($0) }
/// ```
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    private enum Hosts: Hashable {
        case all
        case local
        case name(String)
        case below(String)
        case addresses(IPPrefix)
    }

    /// Every host.
    public static let all = Self(hosts: .all, port: nil)

    private let hosts: Hosts
    private let port: UInt16?

    private init(hosts: Hosts, port: UInt16?) {
        self.hosts = hosts
        self.port = port
    }

    /// Reads a pattern; `nil` when the text is none of the forms.
    public init?(_ text: String) {
        if let prefix = IPPrefix(Self.withoutBrackets(text)) {
            self.init(hosts: .addresses(prefix), port: nil)
            return
        }
        var (host, port) = (text[...], UInt16?.none)
        if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
            guard let number = UInt16(text[text.index(after: colon)...]) else { return nil }
            (host, port) = (text[..<colon], number)
        }
        guard let hosts = Self.hosts(String(host)) else { return nil }
        self.init(hosts: hosts, port: port)
    }

    /// Whether the pattern matches a host, in the form of URL records, and the port of the connection.
    public func matches(host: String, port: UInt16?) -> Bool {
        guard self.port == nil || self.port == port else { return false }
        let host = HostName.withoutRoot(host)
        return switch hosts {
        case .all: true
        case .local: !host.utf8.contains(UInt8(ascii: ".")) && IPAddress(host: host) == nil
        case .name(let name): host == name
        case .below(let name): HostName.parents(of: host).contains(name[...])
        case .addresses(let prefix): IPAddress(host: host).map(prefix.contains) ?? false
        }
    }

    /// The one host that it is for, on every port; nil when it is for more.
    var name: String? { if case .name(let name) = hosts, port == nil { name } else { nil } }

    /// The name below which its hosts are, on every port; nil when it is for others.
    var parentName: String? { if case .below(let name) = hosts, port == nil { name } else { nil } }

    /// The name in it when it has one and nothing else.
    var nameAlone: String? { name ?? parentName }

    /// The pattern as it is written.
    public var description: String {
        let text =
            switch hosts {
            case .all: "*"
            case .local: "<local>"
            case .name(let name): name
            case .below(let name): "*." + name
            case .addresses(let prefix):
                prefix.length == prefix.base.bitWidth
                    ? (prefix.base.isIPv6 ? "[\(prefix.base)]" : "\(prefix.base)") : "\(prefix)"
            }
        return port.map { "\(text):\($0)" } ?? text
    }

    private static func hosts(_ text: String) -> Hosts? {
        switch text {
        case "*": return .all
        case "<local>": return .local
        default: break
        }
        if let prefix = IPPrefix(withoutBrackets(text)) { return .addresses(prefix) }
        let isBelow = text.hasPrefix("*.")
        let bytes = Array((isBelow ? text.dropFirst(2) : text[...]).utf8)
        guard !bytes.isEmpty, bytes.first != UInt8(ascii: "["),
            let name = try? HostParser.parse(bytes[...], isSpecial: true)
        else { return nil }
        let host = String(decoding: name, as: UTF8.self)
        return isBelow ? .below(host) : .name(host)
    }

    /// An address, or a block of them, without the brackets that an IPv6 address may have here.
    private static func withoutBrackets(_ text: String) -> String {
        guard text.hasPrefix("["), text.hasSuffix("]") || text.contains("]/") else { return text }
        return text.filter { $0 != "[" && $0 != "]" }
    }
}

extension URLRecord {
    /// Whether the pattern is for this URL's host and port.
    func matches(_ pattern: HostPattern) -> Bool { pattern.matches(host: host ?? "", port: effectivePort) }
}
