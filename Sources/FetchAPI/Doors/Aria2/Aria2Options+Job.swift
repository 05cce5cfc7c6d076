import FetchJobs
import FoundationEssentials
import HTTPTypes

extension Aria2Options {
    private static let standardTries: Int64 = 5
    private static let maximumAttempts: Int64 = 100
    /// The statuses that another try may help against.
    private static let statuses: [JSONValue] = [
        .number(JSONNumber(Int64(408))), .number(JSONNumber(Int64(429))), .string("5xx"),
    ]

    /// The members of the job of a download but for its labels.
    ///
    /// - Parameter mirrors: Where the file is too.
    func job(loading url: String, mirrors: [String] = []) throws(Aria2Failure) -> [JSONMember] {
        var job = [
            JSONMember("kind", .string("download")), JSONMember("request", try request(url, mirrors)),
            JSONMember("configuration", try configuration()),
            JSONMember("flow", .object([JSONMember("key", .string(Aria2Download.flow))])),
        ]
        if isTrue("pause") { job.append(JSONMember("suspended", .bool(true))) }
        return job
    }

    // MARK: The request

    private func request(_ url: String, _ mirrors: [String]) throws(Aria2Failure) -> JSONValue {
        var fields: [(name: String, value: String)] = []
        for line in headers {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw .option("header") }
            fields.append((String(parts[0]), parts[1].trimmingWhiteSpace))
        }
        func add(_ name: String, _ value: String?) {
            guard let value, !fields.contains(where: { $0.name.lowercased() == name.lowercased() }) else { return }
            fields.append((name, value))
        }
        add("User-Agent", self["user-agent"])
        add("Referer", self["referer"].map { $0 == "*" ? url : $0 })
        if let user = self["http-user"] {
            let pair = Data("\(user):\(self["http-passwd"] ?? "")".utf8)
            add("Authorization", "Basic \(pair.base64EncodedString())")
        }
        var request = [JSONMember("url", .string(url))]
        if !mirrors.isEmpty { request.append(JSONMember("mirrors", .array(mirrors.map(JSONValue.string)))) }
        if !fields.isEmpty { request.append(JSONMember("headers", .headerFields(fields))) }
        return .object(request)
    }

    // MARK: How it is loaded

    private func configuration() throws(Aria2Failure) -> JSONValue {
        var configuration = [JSONMember("timeouts", .object(timeouts)), JSONMember("retry", .object(retry))]
        let destination = try destination()
        if !destination.isEmpty { configuration.append(JSONMember("destination", .object(destination))) }
        if let limit = try limit("max-download-limit"), limit > 0 {
            configuration.append(
                JSONMember(
                    "connections", .object([JSONMember("maximumBytesPerSecond", .number(JSONNumber(limit)))])))
        }
        if let proxy = try proxy() { configuration.append(JSONMember("proxy", .object(proxy))) }
        return .object(configuration)
    }

    private var timeouts: [JSONMember] {
        [
            JSONMember("timeoutIntervalForRequest", .number(JSONNumber(integer("timeout") ?? 60))),
            JSONMember("connect", .number(JSONNumber(integer("connect-timeout") ?? 60))),
        ]
    }

    private var retry: [JSONMember] {
        let tries = integer("max-tries") ?? Self.standardTries
        let attempts = tries == 0 ? Self.maximumAttempts : min(tries, Self.maximumAttempts)
        var retry = [
            JSONMember("maximumAttempts", .number(JSONNumber(attempts))), JSONMember("statuses", .array(Self.statuses)),
        ]
        if let wait = integer("retry-wait"), wait > 0 {
            retry.append(
                JSONMember("backoff", .object([JSONMember("delays", .array([.number(JSONNumber(wait))]))])))
        }
        return retry
    }

    /// `out` is a path below `dir`: its last part is the name of the file.
    var place: (directory: String?, name: String?) {
        guard let out = self["out"] else { return (self["dir"], nil) }
        let parts = out.split(separator: "/").map(String.init)
        guard parts.count > 1 else { return (self["dir"], parts.first) }
        return (
            Aria2Download.join(self["dir"] ?? Aria2Download.standardDirectory, parts.dropLast().joined(separator: "/")),
            parts.last
        )
    }

    private func destination() throws(Aria2Failure) -> [JSONMember] {
        var destination: [JSONMember] = []
        if let name = place.name { destination.append(JSONMember("filename", .string(name))) }
        if isTrue("allow-overwrite") { destination.append(JSONMember("allowOverwrite", .bool(true))) }
        if let checksum = try checksum() { destination.append(JSONMember("checksum", checksum)) }
        return destination
    }

    /// Of `sha-256=` and digits.
    private func checksum() throws(Aria2Failure) -> JSONValue? {
        guard let text = self["checksum"] else { return nil }
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let lengths = [
            "md5": 16, "sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64, "adler32": 4,
        ]
        guard parts.count == 2, let length = lengths[parts[0].lowercased()], parts[1].utf8.count == 2 * length,
            parts[1].allSatisfy({ $0.isASCII && $0.isHexDigit })
        else { throw .option("checksum") }
        let name = parts[0].lowercased()
        guard let checksum = JSONValue.checksum(name, hexadecimal: parts[1]) else {
            throw .notSupported("checksum=\(name)")
        }
        return checksum
    }

    /// `[http://][USER:PASSWORD@]HOST[:PORT]`; an option of its own goes before what the URL has.
    private func proxy() throws(Aria2Failure) -> [JSONMember]? {
        guard let text = self["all-proxy"] else { return nil }
        let parts = text.split(separator: "://", maxSplits: 1).map(String.init)
        let scheme = parts.count == 2 ? parts[0] : "http"
        var rest = (parts.last ?? "")[...]
        while rest.last == "/" { rest.removeLast() }
        var (user, password) = (String?.none, String?.none)
        if let at = rest.lastIndex(of: "@") {
            let pair = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            user = pair.first.map { $0.percentDecoded ?? String($0) }
            password = pair.count > 1 ? pair[1].percentDecoded ?? String(pair[1]) : nil
            rest = rest[rest.index(after: at)...]
        }
        user = self["all-proxy-user"] ?? user
        password = self["all-proxy-passwd"] ?? password
        var proxy = [JSONMember("url", .string("\(scheme)://\(rest)"))]
        if let user { proxy.append(JSONMember("credential", .credential(user, password ?? ""))) }
        return proxy
    }

    // MARK: Changing

    /// Those that can be changed as long as a download is not over.
    private static let changeable: Set = [
        "allow-overwrite", "checksum", "connect-timeout", "dir", "max-download-limit", "max-tries", "out", "retry-wait",
        "timeout",
    ]
    /// Those that have an effect, and only when a download is added.
    private static let settled: Set = [
        "all-proxy", "all-proxy-passwd", "all-proxy-user", "gid", "header", "http-passwd", "http-user", "pause",
        "referer", "user-agent",
    ]

    /// The job of a download with these options in place of its own.
    ///
    /// - Throws: ``Aria2Failure`` for an option that cannot be changed.
    func changed(_ spec: JobSpec) throws -> (spec: JobSpec, change: JobChange) {
        if let name = names.intersection(Self.settled).min() { throw Aria2Failure.notSupported("A change of \(name)") }
        var (spec, change) = (spec, JobChange())
        let asked = names.intersection(Self.changeable)
        guard !asked.isEmpty else { return (spec, change) }
        // Read as a new download would be, so that the same rules hold.
        let own = try JobSpec(json: .object(try job(loading: "https://fetchd.example/")))
        if asked.contains("max-download-limit") {
            let limit = own.configuration.connections.maximumBytesPerSecond
            spec.configuration.connections.maximumBytesPerSecond = limit
            change.maximumBytesPerSecond = limit.map { .own($0) } ?? .inherited
        }
        if asked.contains("timeout") {
            spec.configuration.timeouts.timeoutIntervalForRequest =
                own.configuration.timeouts.timeoutIntervalForRequest
        }
        if asked.contains("connect-timeout") {
            spec.configuration.timeouts.connect = own.configuration.timeouts.connect
        }
        if asked.contains("max-tries") {
            spec.configuration.retry.maximumAttempts = own.configuration.retry.maximumAttempts
        }
        if asked.contains("retry-wait") { spec.configuration.retry.backoff = own.configuration.retry.backoff }
        if asked.contains("checksum") {
            spec.configuration.destination.checksum = own.configuration.destination.checksum
        }
        if asked.contains("allow-overwrite") {
            spec.configuration.destination.allowOverwrite = own.configuration.destination.allowOverwrite
        }
        if asked.contains("out") { spec.configuration.destination.filename = own.configuration.destination.filename }
        if asked.contains("dir") || asked.contains("out"), let directory = place.directory {
            change.labels = [(Aria2Download.labelOfDirectory, try Aria2Download.directory(directory))]
        }
        return (try change.applied(to: spec), change)
    }
}
