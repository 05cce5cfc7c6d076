import FetchJobs

/// The options of a call, as far as this service knows them; each value is a text that keeps to the rule of its name.
struct Aria2Options: Sendable {
    /// What a value has to be.
    enum Rule: Sendable {
        case bool
        case integer(ClosedRange<Int64>)
        /// Bytes, with K or M for 1024 of them or 1024 of these.
        case size(ClosedRange<Int64>)
        case choice(Set<String>)
        case text

        func allows(_ value: String) -> Bool {
            guard value.isStreamSafe else { return false }
            return switch self {
            case .bool: value == "true" || value == "false"
            case .integer(let range): Int64(value).map(range.contains) ?? false
            case .size(let range): Aria2Options.bytes(value).map(range.contains) ?? false
            case .choice(let choices): choices.contains(value)
            case .text: true
            }
        }
    }

    struct Known: Sendable {
        let rule: Rule
        /// What a download has that says nothing; nil for nothing.
        let standard: String?

        init(_ rule: Rule, _ standard: String? = nil) {
            self.rule = rule
            self.standard = standard
        }
    }

    private static let any: ClosedRange<Int64> = 0...Int64.max

    /// Of downloads.
    ///
    /// Those without an effect are known so that what breaks their rule is refused, and are told.
    static let ofDownloads: [String: Known] = [
        "all-proxy": Known(.text), "all-proxy-passwd": Known(.text), "all-proxy-user": Known(.text),
        "allow-overwrite": Known(.bool, "false"), "allow-piece-length-change": Known(.bool, "false"),
        "always-resume": Known(.bool, "true"), "async-dns": Known(.bool, "true"),
        "auto-file-renaming": Known(.bool, "true"), "check-certificate": Known(.bool, "true"),
        "check-integrity": Known(.bool, "false"), "checksum": Known(.text), "conditional-get": Known(.bool, "false"),
        "connect-timeout": Known(.integer(1...600), "60"), "content-disposition-default-utf8": Known(.bool, "false"),
        "continue": Known(.bool, "false"), "dir": Known(.text, Aria2Download.standardDirectory),
        "dry-run": Known(.bool, "false"),
        "enable-http-keep-alive": Known(.bool, "true"), "enable-http-pipelining": Known(.bool, "false"),
        "file-allocation": Known(.choice(["none", "prealloc", "trunc", "falloc"]), "prealloc"),
        "force-save": Known(.bool, "false"), "ftp-pasv": Known(.bool, "true"), "gid": Known(.text),
        "hash-check-only": Known(.bool, "false"), "header": Known(.text), "http-accept-gzip": Known(.bool, "false"),
        "http-auth-challenge": Known(.bool, "false"), "http-no-cache": Known(.bool, "false"),
        "http-passwd": Known(.text), "http-user": Known(.text), "lowest-speed-limit": Known(.size(any), "0"),
        "max-connection-per-server": Known(.integer(1...16), "1"), "max-download-limit": Known(.size(any), "0"),
        "max-file-not-found": Known(.integer(any), "0"), "max-resume-failure-tries": Known(.integer(any), "0"),
        "max-tries": Known(.integer(any), "5"), "max-upload-limit": Known(.size(any), "0"),
        "min-split-size": Known(.size(1 << 20...1 << 30), "20971520"), "no-netrc": Known(.bool, "false"),
        "out": Known(.text), "parameterized-uri": Known(.bool, "false"), "pause": Known(.bool),
        "piece-length": Known(.size(1 << 20...1 << 30), "1048576"),
        "proxy-method": Known(.choice(["get", "tunnel"]), "get"), "realtime-chunk-checksum": Known(.bool, "true"),
        "referer": Known(.text), "remote-time": Known(.bool, "false"), "remove-control-file": Known(.bool, "false"),
        "retry-wait": Known(.integer(0...600), "0"), "reuse-uri": Known(.bool, "true"),
        "split": Known(.integer(1...Int64.max), "5"),
        "stream-piece-selector": Known(.choice(["default", "inorder", "random", "geom"]), "default"),
        "timeout": Known(.integer(1...600), "60"),
        "uri-selector": Known(.choice(["inorder", "feedback", "adaptive"]), "feedback"),
        "use-head": Known(.bool, "false"), "user-agent": Known(.text),
    ]

    /// Of all downloads of a tenant together.
    static let global: [String: Known] = [
        "max-concurrent-downloads": Known(.integer(1...100_000), "100000"),
        "max-download-result": Known(.integer(any), "1000"), "max-overall-download-limit": Known(.size(any), "0"),
        "max-overall-upload-limit": Known(.size(any), "0"),
    ]

    /// Values that would have a download do something else than it is asked for, were they without effect.
    private static let refused: KeyValuePairs = [
        "check-certificate": "false", "dry-run": "true", "hash-check-only": "true", "parameterized-uri": "true",
    ]

    private static let maximumHeaders = 64

    private var values: [String: String] = [:]
    /// The lines of the option `header`, of which there may be several.
    private(set) var headers: [String] = []

    /// Unknown options and values that are no texts are passed over, as aria2 does.
    init(_ members: [JSONMember]) throws(Aria2Failure) {
        for member in members {
            guard let known = Self.ofDownloads[member.name] ?? Self.global[member.name] else { continue }
            if member.name == "header" {
                let lines = member.value.text.map { [$0] } ?? member.value.elements.compactMap(\.text)
                guard lines.allSatisfy(known.rule.allows) else { throw .option(member.name) }
                headers = lines.flatMap {
                    $0.split(separator: "\n", maxSplits: Self.maximumHeaders).map(String.init)
                }
                guard headers.count <= Self.maximumHeaders else { throw .option("header") }
                continue
            }
            guard let value = member.value.text else { continue }
            guard known.rule.allows(value) else { throw .option(member.name) }
            values[member.name] = value
        }
        for (name, value) in Self.refused where values[name] == value {
            throw .notSupported("\(name)=\(value)")
        }
    }

    init() {}

    /// The value of an option; nil for none and for an empty one, which takes it back.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    var names: Set<String> { Set(values.keys).union(headers.isEmpty ? [] : ["header"]) }

    func isTrue(_ name: String) -> Bool { values[name] == "true" }

    func integer(_ name: String) -> Int64? { values[name].flatMap { Int64($0) } }

    /// How many bytes a second an option allows; 0 for any number.
    ///
    /// - Throws: ``Aria2Failure`` for fewer than the service can keep to.
    func limit(_ name: String) throws(Aria2Failure) -> Int64? {
        guard let bytes = values[name].flatMap(Self.bytes) else { return nil }
        guard bytes == 0 || (1024...(1 << 40)).contains(bytes) else {
            throw .notSupported("\(name) other than 0 and 1024 to 2^40 bytes a second")
        }
        return bytes
    }

    private static func bytes(_ text: String) -> Int64? {
        let factor: Int64 =
            switch text.last {
            case "k", "K": 1 << 10
            case "m", "M": 1 << 20
            default: 1
            }
        guard let number = Int64(factor == 1 ? text[...] : text.dropLast()), number >= 0 else { return nil }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: factor)
        return isTooLarge ? nil : bytes
    }
}
