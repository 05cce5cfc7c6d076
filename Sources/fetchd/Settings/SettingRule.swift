import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import HTTPTypes
import Logging

/// The form of the values of a setting, read and written.
///
/// Reading is strict: a value that cannot be used ends the start, since a setting that is ignored, or bent into
/// something else, is worse than one that is missing.
struct SettingRule<Value: Sendable>: Sendable {
    /// As it goes on after "is not".
    let description: String
    var edges: SettingEdges?
    /// The value of a text; nil when the rule does not allow it.
    let parse: @Sendable (String) -> Value?
    let text: @Sendable (Value) -> String
}

extension SettingRule where Value: FixedWidthInteger {
    /// A whole number, of something where that is named.
    static func integer(_ range: ClosedRange<Value> = 1...1_000_000_000, of unit: String? = nil) -> Self {
        SettingRule(
            description:
                "a whole number\(unit.map { " of \($0)" } ?? "") from \(range.lowerBound) to \(range.upperBound)",
            edges: SettingEdges(
                inside: ["\(range.lowerBound)", "\(range.upperBound)"],
                outside: ["\(range.lowerBound - 1)", "\(range.upperBound + 1)"]),
            parse: { text in
                guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
                return Value(text).flatMap { range.contains($0) ? $0 : nil }
            },
            text: { "\($0)" })
    }
}

extension SettingRule where Value == Int64 {
    /// As many bytes as no disk has, at most: sums of them stay numbers.
    static func bytes(from least: Int64) -> Self { integer(least...1 << 50, of: "bytes") }
}

extension SettingRule where Value == Duration {
    enum Unit: String {
        case seconds, days

        var seconds: Double { self == .days ? 86_400 : 1 }
    }

    /// A time in some unit; fractions may be given.
    static func duration(_ unit: Unit, _ range: ClosedRange<Double>) -> Self {
        SettingRule(
            description: "a number of \(unit) from \(range.lowerBound.plain) to \(range.upperBound.plain)",
            edges: SettingEdges(
                inside: [range.lowerBound.plain, range.upperBound.plain],
                outside: [(range.lowerBound - 0.001).plain, (range.upperBound + 0.001).plain]),
            parse: { text in
                guard text.contains(/^\d{1,9}(\.\d{1,9})?$/), let number = Double(text), range.contains(number) else {
                    return nil
                }
                return .seconds(number * unit.seconds)
            },
            text: { ($0 / .seconds(unit.seconds)).plain })
    }
}

extension SettingRule where Value == Bool {
    static var bool: Self {
        SettingRule(
            description: "true or false",
            parse: { text in
                switch text.lowercased() {
                case "true", "yes", "1": true
                case "false", "no", "0": false
                default: nil
                }
            },
            text: { "\($0)" })
    }
}

extension SettingRule where Value == String {
    /// A text of which no more can be told by itself.
    static func text(_ description: String) -> Self {
        SettingRule(description: description, parse: { $0 }, text: { $0 })
    }

    static func text(_ description: String, where isValid: @escaping @Sendable (String) -> Bool) -> Self {
        SettingRule(description: description, parse: { isValid($0) ? $0 : nil }, text: { $0 })
    }

    static var absolutePath: Self { .text("an absolute path") { $0.hasPrefix("/") } }

    /// The scheme, host and port of an HTTP server, without a path.
    static var origin: Self {
        .text("http or https, a host and a port, such as http://10.0.0.7:8080") { text in
            guard let url = try? URLRecord(text), url.isHTTP, url.path == "/", !url.hasCredentials else { return false }
            return url.query == nil && url.fragment == nil && !text.hasSuffix("/")
        }
    }
}

extension SettingRule where Value == String {
    /// A text that is one line, and not long.
    static func word(_ description: String) -> Self {
        .text("\(description), 256 bytes at most") { TokenSubject.allows($0) }
    }

    /// A JSON Web Key Set: a file, or a URL that an attacker on the way cannot answer for.
    static var keySet: Self {
        .text("an absolute path, an https URL, or an http URL of this machine") { text in
            text.hasPrefix("/") || IssuerURL(text) != nil
        }
    }

    /// The issuer of an identity provider (OpenID Connect Discovery 1.0 §3).
    static var issuer: Self {
        .text("an https URL, or an http URL of this machine, without a query, 256 bytes at most") { text in
            TokenSubject.allows(text) && IssuerURL(text) != nil && !text.contains("?")
        }
    }

    /// What is asked of an identity provider (RFC 6749 §3.3).
    static var openIDScopes: Self {
        .text("a list of scopes with spaces between them, openid among them") { text in
            text.isOAuthText && text.split(separator: " ").contains("openid")
        }
    }
}

extension SettingRule where Value == Set<String> {
    /// Texts that may have spaces, so that commas alone are between them.
    static var values: Self {
        SettingRule(
            description: "a list of values of the claim with commas between them, 256 bytes each at most",
            parse: { text in
                let values = text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmingWhiteSpace)
                guard values.allSatisfy({ TokenSubject.allows($0) }) else { return nil }
                return Set(values)
            },
            text: { $0.sorted().joined(separator: ", ") })
    }
}

extension SettingRule {
    /// Names of a closed set, each once, with commas or spaces between them.
    private static func names<Name: RawRepresentable<String> & CaseIterable & Hashable & Sendable>(
        _ description: String, of names: [Name]
    ) -> Self where Value == Set<Name> {
        let text: @Sendable (Set<Name>) -> String = { chosen in
            names.filter { chosen.contains($0) }.map(\.rawValue).joined(separator: ", ")
        }
        return SettingRule(
            description: "\(description) of \(text(Set(names)))",
            parse: { text in
                let words = text.split { $0 == "," || $0 == " " }
                let chosen = words.compactMap { word in names.first { $0.rawValue == word } }
                guard !words.isEmpty, chosen.count == words.count else { return nil }
                return Set(chosen)
            },
            text: text)
    }
}

extension SettingRule where Value == SyslogAddress {
    static var syslog: Self {
        SettingRule(
            description:
                "unix:PATH, tcp://HOST:PORT or tls://HOST:PORT, such as unix:/dev/log and tls://logs.example:6514",
            parse: { SyslogAddress($0) }, text: { "\($0)" })
    }
}

extension SettingRule where Value == Set<Scope> {
    /// Keys would outlive the token that makes them.
    static var tokenScopes: Self { names("a list", of: Scope.allCases.filter { $0 != .keys }) }
}

extension SettingRule where Value == Set<NodeRole> {
    static var roles: Self { names("a list", of: NodeRole.allCases) }
}

extension SettingRule where Value == Set<TokenAlgorithm> {
    static var tokenAlgorithms: Self { names("a list", of: TokenAlgorithm.allCases) }
}

extension SettingRule where Value == Logger.Level {
    static var logLevel: Self {
        SettingRule(
            description: "one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "),
            parse: { Logger.Level(rawValue: $0) }, text: \.rawValue)
    }
}

extension SettingRule where Value: RawRepresentable<String> & CaseIterable {
    /// One of a closed set of words.
    static var choice: Self {
        SettingRule(
            description: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
            parse: { Value(rawValue: $0) }, text: \.rawValue)
    }
}

extension SettingRule where Value == TraceSampler {
    static var sampler: Self {
        SettingRule(
            description: "one of " + TraceSampler.allCases.map(\.rawValue).joined(separator: ", "),
            parse: { TraceSampler(rawValue: $0) }, text: \.rawValue)
    }
}

extension SettingRule where Value == Double {
    /// A share of a whole.
    static var ratio: Self {
        SettingRule(
            description: "a number from 0 to 1",
            edges: SettingEdges(inside: ["0", "1"], outside: ["-0.001", "1.001"]),
            parse: { text in
                guard text.contains(/^\d{1,9}(\.\d{1,9})?$/), let number = Double(text) else { return nil }
                return number <= 1 ? number : nil
            },
            text: \.plain)
    }
}

extension SettingRule where Value == String {
    /// The address of a collector, which may have a path.
    static var collector: Self {
        .text("an http or https URL without a user, query and fragment, such as http://127.0.0.1:4318") { text in
            guard let url = try? URLRecord(text), url.isHTTP, !url.hasCredentials else { return false }
            return url.query == nil && url.fragment == nil
        }
    }
}

extension SettingRule where Value == HTTPFields {
    /// Header fields as OpenTelemetry writes them: values are percent-encoded.
    static var collectorFields: Self {
        SettingRule(
            description: "a list of NAME=VALUE with commas between them, values percent-encoded",
            parse: { text in
                var fields = HTTPFields()
                for pair in text.split(separator: ",") {
                    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    guard parts.count == 2,
                        let name = HTTPField.Name(parts[0].trimmingWhiteSpace),
                        let value = parts[1].trimmingWhiteSpace.percentDecoded,
                        HTTPField.isValidValue(value)
                    else { return nil }
                    fields.append(HTTPField(name: name, value: value).markedSensitive)
                }
                return fields.isEmpty ? nil : fields
            },
            text: { _ in "<redacted>" })
    }
}

extension SettingRule where Value == APIKeyToken {
    static var apiKey: Self {
        SettingRule(
            description: "an API key as \"fetchd keys generate\" prints one", parse: { APIKeyToken($0) },
            text: { _ in "<redacted>" })
    }
}

extension SettingRule where Value == Proxy {
    static var proxy: Self {
        SettingRule(
            description:
                "http, https, socks4a or socks5h, a host and a port, such as http://user:password@proxy.example:3128",
            parse: { text in text.contains("://") ? Proxy(text) : nil },
            text: \.description)
    }
}

extension SettingRule where Value == [HostPattern] {
    static var hosts: Self {
        SettingRule(
            description: "a list of hosts, such as localhost, *.internal.example, 10.0.0.0/8",
            parse: { text in
                let words = text.split { $0 == "," || $0 == " " }
                let hosts = words.compactMap { HostPattern(String($0)) }
                return hosts.isEmpty || hosts.count < words.count ? nil : hosts
            },
            text: { $0.map(\.description).joined(separator: ", ") })
    }
}

extension SettingRule where Value == TrustedProxies {
    static var proxies: Self {
        SettingRule(
            description: "a list of addresses and blocks of addresses, such as 127.0.0.1, 10.0.0.0/8",
            parse: { try? TrustedProxies($0.split { $0 == "," || $0 == " " }.map { String($0) }) },
            text: \.description)
    }
}

extension SettingRule where Value == AllowedOrigins {
    static var origins: Self {
        SettingRule(
            description: "a list of origins, such as https://ariang.example, or *",
            parse: { text in
                let parts = text.split { $0 == "," || $0 == " " }.map { String($0) }
                guard parts == ["*"] || parts.allSatisfy({ SettingRule<String>.origin.parse($0) != nil }) else {
                    return nil
                }
                return AllowedOrigins(Set(parts))
            },
            text: \.description)
    }
}

extension SettingRule where Value == Aria2Listener {
    static var aria2Listener: Self {
        SettingRule(
            description: "an address of this machine's loopback and a port, such as 127.0.0.1:6800 or [::1]:6800",
            parse: { Aria2Listener($0) }, text: \.description)
    }
}

extension Double {
    /// Without a fraction where there is none, and never with an exponent.
    fileprivate var plain: String {
        let billionths = Int128((magnitude * 1e9).rounded())
        let (whole, fraction) = billionths.quotientAndRemainder(dividingBy: 1_000_000_000)
        let digits = String(fraction + 1_000_000_000).dropFirst()
        let shown = digits.lastIndex { $0 != "0" }.map { "." + digits[...$0] } ?? ""
        return "\(self < 0 && billionths > 0 ? "-" : "")\(whole)\(shown)"
    }
}
