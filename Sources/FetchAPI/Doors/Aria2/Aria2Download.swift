import FetchJobs
import HTTPTypes

/// A job as a download of aria2.
struct Aria2Download: Sendable {
    /// The label that every download has, with what becomes of it.
    static let label = JobSpec.Label(name: "aria2", value: "download")
    /// Of one whose result was removed: it is there for `/v1` alone.
    static let removedLabel = JobSpec.Label(name: label.name, value: "removed")
    static let labelOfGID = "aria2.gid"
    static let labelOfBeginning = "aria2.gid6"
    static let labelOfDirectory = "aria2.dir"
    /// Of a download that names none; some clients cannot tell the name of a file in the root.
    static let standardDirectory = "/downloads"
    /// The flow of all downloads of a tenant.
    static let flow = "aria2"

    private static let pieceLength: Int64 = 1 << 20
    private static let maximumLabelBytes = 256

    static let activeStates: Set<JobState> = [.running, .awaitingDecision]
    static let waitingStates: Set<JobState> = [.queued, .scheduled, .suspended]
    static let stoppedStates: Set<JobState> = [.succeeded, .failed, .cancelled]

    enum Status: String {
        case active, waiting, paused, complete, error, removed
    }

    let job: Job
    let spec: JobSpec
    let gid: String

    /// - Returns: nil for a job that is no download, or whose result was removed.
    init?(_ job: Job) {
        guard let spec = job.storedSpec, spec.labels.contains(Self.label),
            let gid = Self.value(Self.labelOfGID, of: spec)
        else { return nil }
        (self.job, self.spec, self.gid) = (job, spec, gid)
    }

    private static func value(_ name: String, of spec: JobSpec) -> String? {
        spec.labels.first { $0.name == name }?.value
    }

    // MARK: Places

    /// - Throws: ``Aria2Failure`` for what is too long to be kept.
    static func directory(_ text: String) throws(Aria2Failure) -> String {
        guard text.utf8.count <= maximumLabelBytes else {
            throw .notSupported("dir of more than \(maximumLabelBytes) bytes")
        }
        return text
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    var directory: String { Self.value(Self.labelOfDirectory, of: spec) ?? Self.standardDirectory }

    private var filename: String? {
        let stored = job.file.flatMap { try? JSONParser.parse($0.bytes) }?.member("filename")?.text
        return stored ?? spec.configuration.destination.filename
    }

    /// The number of the URI that is loaded, or was loaded last.
    private var turn: Int {
        let tries = job.attempts.count { $0.nextAttemptAt != nil }
        return tries % spec.request.urls.count
    }

    // MARK: How it is

    private var lastStatus: Int? { job.attempts.last?.status }

    var status: Status {
        switch job.state {
        case .queued, .scheduled: .waiting
        case .running, .awaitingDecision: .active
        case .suspended: .paused
        case .succeeded: lastStatus.map { $0 >= 300 } ?? false ? .error : .complete
        case .failed: .error
        case .cancelled: .removed
        }
    }

    /// The number and the text of what a download that is over has ended with.
    private var end: (code: Int, message: String)? {
        switch status {
        case .active, .waiting, .paused: nil
        case .complete: (0, "")
        case .removed: (31, "")
        case .error:
            if let status = lastStatus, status >= 300 {
                (Self.code(ofStatus: status), Self.message(ofStatus: status))
            } else {
                (Self.code(of: job.attempts.last?.errorName ?? errorMember("name")), errorMember("message") ?? "")
            }
        }
    }

    private func errorMember(_ name: String) -> String? {
        job.error.flatMap { try? JSONParser.parse($0.bytes) }?.member(name)?.text
    }

    private static func code(ofStatus status: Int) -> Int {
        switch status {
        case 401, 407: 24
        case 404: 3
        case 503: 29
        default: 22
        }
    }

    private static func message(ofStatus status: Int) -> String {
        switch status {
        case 401: "Authorization failed."
        case 404: "Resource not found"
        default: "The response status is not successful. status=\(status)"
        }
    }

    private static func code(of name: String?) -> Int {
        switch name {
        case "timedOut": 2
        case "networkConnectionLost", "notConnectedToInternet": 6
        case "cannotCreateFile", "cannotOpenFile", "cannotMoveFile": 16
        case "cannotWriteToFile", "cannotCloseFile": 17
        case "cannotFindHost", "dnsLookupFailed", "cannotFindProxy": 19
        case "badServerResponse", "cannotParseResponse": 22
        case "httpTooManyRedirects", "redirectTargetForbidden", "redirectDowngrade", "redirectRefused": 23
        case "userAuthenticationRequired", "userCancelledAuthentication", "proxyAuthenticationRequired": 24
        case "badURL", "unsupportedURL", "jobInvalid": 28
        case "contentDigestMismatch": 32
        default: 1
        }
    }

    // MARK: As aria2 shows it

    /// - Parameters:
    ///   - keys: The members that are asked for; nil for all.
    ///   - progress: How far it is, where this node runs it.
    func write(_ writer: inout JSONWriter, keys: Set<String>?, progress: JobProgress?) {
        func isAsked(_ name: String) -> Bool { keys?.contains(name) ?? true }
        let (done, total) = lengths(progress)
        let speed = Int64((progress?.bytesPerSecond ?? 0).rounded())
        let members: KeyValuePairs<String, String?> = [
            "completedLength": "\(done)", "connections": status == .active ? "1" : "0", "dir": directory,
            "downloadSpeed": "\(speed)", "errorCode": end.map { "\($0.code)" }, "errorMessage": end?.message,
            "gid": gid, "numPieces": "\((total + Self.pieceLength - 1) / Self.pieceLength)",
            "pieceLength": "\(Self.pieceLength)", "status": status.rawValue, "totalLength": "\(total)",
            "uploadLength": "0", "uploadSpeed": "0",
        ]
        for (name, value) in members where isAsked(name) { writer.member(name, value) }
        if isAsked("files") { writer.member("files", array: { writeFiles(&$0, progress) }) }
    }

    private func lengths(_ progress: JobProgress?) -> (done: Int64, total: Int64) {
        if status == .complete, let bytes = job.body?.bytes { return (bytes, bytes) }
        return (progress?.bytesReceived ?? 0, progress?.bytesExpectedToReceive ?? 0)
    }

    func writeFiles(_ writer: inout JSONWriter, _ progress: JobProgress?) {
        let (done, total) = lengths(progress)
        writer.object { writer in
            writer.member("completedLength", "\(done)")
            writer.member("index", "1")
            writer.member("length", "\(total)")
            writer.member("path", filename.map { Self.join(directory, $0) } ?? "")
            writer.member("selected", "true")
            writer.member("uris", array: writeURIs)
        }
    }

    /// One is loaded at a time.
    func writeURIs(_ writer: inout JSONWriter) {
        let isBegun = status != .waiting && status != .paused
        for (index, url) in spec.request.urls.enumerated() {
            writer.object { writer in
                writer.member("status", isBegun && index == turn ? "used" : "waiting")
                writer.member("uri", "\(url)")
            }
        }
    }

    func writeServers(_ writer: inout JSONWriter, _ progress: JobProgress?) {
        writer.object { writer in
            writer.member("index", "1")
            writer.member(
                "servers",
                array: { writer in
                    writer.object { writer in
                        let uri = "\(spec.request.urls[turn])"
                        writer.member("currentUri", uri)
                        writer.member("downloadSpeed", "\(Int64((progress?.bytesPerSecond ?? 0).rounded()))")
                        writer.member("uri", uri)
                    }
                })
        }
    }

    // MARK: Its options

    /// The options as they are in effect, without what is secret.
    func writeOptions(_ writer: inout JSONWriter) {
        var options = Aria2Options.ofDownloads.compactMapValues(\.standard)
        let configuration = spec.configuration
        options["dir"] = directory
        options["out"] = configuration.destination.filename
        options["allow-overwrite"] = "\(configuration.destination.allowOverwrite ?? false)"
        if let digest = configuration.destination.checksum { options["checksum"] = digest.hexadecimal }
        if let attempts = configuration.retry.maximumAttempts { options["max-tries"] = "\(attempts)" }
        if case .listed(let delays)? = configuration.retry.backoff?.waits, let wait = delays.first {
            options["retry-wait"] = "\(wait.components.seconds)"
        }
        if let time = configuration.timeouts.timeoutIntervalForRequest {
            options["timeout"] = "\(time.components.seconds)"
        }
        if let time = configuration.timeouts.connect { options["connect-timeout"] = "\(time.components.seconds)" }
        options["max-download-limit"] = "\(configuration.connections.maximumBytesPerSecond ?? 0)"
        options["all-proxy"] = configuration.proxy.url.map { "\($0)" }
        var lines = ""
        for field in spec.request.headers {
            switch field.name {
            case .userAgent: options["user-agent"] = field.value
            case .referer: options["referer"] = field.value
            default: lines += "\(field.name.rawName): \(field.value)\n"
            }
        }
        if !lines.isEmpty { options["header"] = lines }
        for (name, value) in options.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
    }
}
