import Crypto
import FetchJobs
import FoundationEssentials
import HTTPTypes

/// A message as a client publishes it, and the job that it is.
struct QStashMessage {
    /// How long after a message others with its deduplication id are taken for it, in seconds.
    private static let deduplicationWindow = 600.0
    private static let standardRetries = 3
    private static let maximumRetries = 99
    private static let maximumLabels = 20
    /// e^2.5 seconds, as many times as there were attempts: 12 s, 2m28, 30m8, 6h7, 24 h.
    private static let growth = 12.1825
    private static let longestWait = 86_400.0
    private static let longestLife = 31_536_000.0

    let spec: JobSpec
    /// What ``spec`` was read from, for the template of a schedule; nil without one.
    let template: JSONValue?
    /// The queue that it waits in, whose flow is ``JobSpec/flow``.
    let queue: String?
    /// The limits that it sets for its flow.
    let limits: SharedLimits?

    /// - Parameters:
    ///   - queue: The queue that the path or a batch names.
    ///   - caller: The address of the client.
    ///   - schedule: The id of the schedule that sends it, as its client knows it; nil for none.
    init(
        to target: QStashTarget, _ fields: QStashFields, body: [UInt8], queue: String?, caller: String?,
        schedule: String? = nil
    ) throws {
        try fields.require(ofSchedule: schedule != nil)
        let url = target.url
        self.queue = try (queue ?? fields["queue-name"]).map(Self.queue)
        let key = fields["flow-control-key"]
        if self.queue != nil, key != nil {
            throw Problem(
                .invalidParameter,
                "A message in a queue with Upstash-Flow-Control-Key is not mapped: a job has one flow.")
        }
        limits = try key.map { _ in try Self.limits(fields) }
        if key == nil, fields["flow-control-value"] != nil {
            throw fields.refusal("flow-control-value", "needs Upstash-Flow-Control-Key")
        }
        var labels = [JSONMember(QStashDoor.label, .string("message"))]
        labels.append(JSONMember(QStashDoor.labelOfURL, .string(Self.digest(url))))
        if let caller { labels.append(JSONMember(QStashDoor.labelOfCaller, .string(caller))) }
        if let schedule { labels.append(JSONMember(QStashDoor.labelOfSchedule, .string(schedule))) }
        if let group = target.group { labels.append(JSONMember(QStashDoor.labelOfGroup, .string(group))) }
        if let name = target.endpoint { labels.append(JSONMember(QStashDoor.labelOfEndpoint, .string(name))) }
        if let queue = self.queue { labels.append(JSONMember(QStashDoor.labelOfQueue, .string(queue))) }
        if let key { labels.append(JSONMember(QStashDoor.labelOfKey, .string(key))) }
        labels += try Self.labels(fields)
        var job = [
            JSONMember("request", try Self.request(target, fields, body, caller, schedule)),
            JSONMember("configuration", try Self.configuration(fields)),
            JSONMember("labels", .object(labels)),
        ]
        let callbacks = try Self.callbacks(target, fields, caller, schedule, isQueued: self.queue != nil)
        if !callbacks.isEmpty { job.append(JSONMember("callbacks", .object(callbacks))) }
        if let runAt = try Self.runAt(fields) { job.append(JSONMember("runAt", .string(runAt.description))) }
        if let flow = self.queue.map(Self.flow(ofQueue:)) ?? key.map(Self.flow(ofKey:)) {
            job.append(JSONMember("flow", .object([JSONMember("key", .string(flow))])))
        }
        if let unique = Self.uniqueKey(target, fields, body) {
            job.append(
                JSONMember(
                    "unique",
                    .object([
                        JSONMember("key", .string(unique)),
                        JSONMember("window", .number(JSONNumber(Self.deduplicationWindow))),
                    ])))
        }
        spec = try JobSpec(json: .object(job))
        template = schedule.map { _ in .object(job) }
    }

    // MARK: Where it goes

    /// Whether names of queues and groups may have a byte.
    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    static func flow(ofQueue name: String) -> String { "qstash.queue.\(name)" }
    static func flow(ofKey key: String) -> String { "qstash.key.\(key)" }

    /// - Throws: ``Problem`` for a text that is no name of a queue.
    static func queue(_ name: String) throws(Problem) -> String {
        guard (1...128).contains(name.utf8.count), name.utf8.allSatisfy(isPlain) else {
            throw Problem(
                .invalidParameter, "The name of a queue has 1 to 128 letters, digits, hyphens, underscores and dots.")
        }
        return name
    }

    private static func digest(_ text: String) -> String { SHA256Digest(of: Array(text.utf8)).hexadecimal(32) }

    /// What a filter looks for that names a URL.
    static func label(ofURL url: String) -> JobSpec.Label {
        JobSpec.Label(name: QStashDoor.labelOfURL, value: digest(url))
    }

    /// Says to a message of a schedule to which URL of its group it goes.
    static func address(_ job: inout JobSpec, to endpoint: URLGroup.Endpoint) {
        guard isMessage(job) else { return }
        job.labels.removeAll { $0.name == QStashDoor.labelOfURL }
        job.labels.append(label(ofURL: endpoint.url))
        guard let name = endpoint.name else { return }
        job.labels.append(JobSpec.Label(name: QStashDoor.labelOfEndpoint, value: name))
        for index in job.callbacks.indices {
            guard case .json(.object(let told)) = job.callbacks[index].job.request.body else { continue }
            let named = JSONMember("endpointName", .string(name))
            job.callbacks[index].job.request.body = .json(.object(told + [named]))
        }
    }

    // MARK: What it sends

    private static func request(
        _ target: QStashTarget, _ fields: QStashFields, _ body: [UInt8], _ caller: String?, _ schedule: String?
    ) throws(Problem) -> JSONValue {
        let forwards = Set(fields.forwarded.map { $0.name.lowercased() })
        var own: [(String, String)] = []
        if let type = fields.contentType, !forwards.contains("content-type") { own.append(("Content-Type", type)) }
        if let caller { own.append(("Upstash-Caller-Ip", caller)) }
        if let schedule { own.append(("Upstash-Schedule-Id", schedule)) }
        if let group = target.group { own.append(("Upstash-Topic-Name", group)) }
        let redaction = try QStashRedaction(of: fields)
        var request = try outline(target.url, fields, own, redaction)
        request.append(JSONMember("cachePolicy", .string("reloadIgnoringLocalCacheData")))
        if !body.isEmpty {
            let hasType = fields.contentType != nil || forwards.contains("content-type")
            // A text has a type of its own where none is named, and QStash sends none.
            let text = hasType ? String(validating: body, as: UTF8.self) : nil
            let form = text.map { JSONMember("text", .string($0)) }
            let bytes = JSONMember("base64", .string(Data(body).base64EncodedString()))
            request.append(JSONMember("body", .object([form ?? bytes])))
        }
        if let redaction {
            request.append(JSONMember("redaction", .string(Redaction.Form.digest.rawValue)))
            if redaction.hasBody { request.append(JSONMember("sensitive", .array([.string("body")]))) }
        }
        return .object(request)
    }

    /// A request without its body.
    private static func outline(
        _ url: String, _ fields: QStashFields, _ own: [(String, String)], _ redaction: QStashRedaction? = nil
    ) throws(Problem) -> [JSONMember] {
        let forwards = Set(fields.forwarded.map { $0.name.lowercased() })
        let hasAgent = forwards.contains("user-agent")
        // What the service says of a message is no secret of its client's.
        func isSecret(_ name: String) -> Bool {
            let name = name.lowercased()
            return (forwards.contains(name) || name == "content-type") && redaction?.hides(fieldNamed: name) == true
        }
        let headers =
            fields.forwarded.map { (name: $0.name, value: $0.value) } + own
            + (hasAgent ? [] : [("User-Agent", "Upstash-QStash")])
        func made(_ name: String, _ content: String, _ more: [JSONMember] = []) -> JSONValue {
            .object([JSONMember("name", .string(name)), JSONMember("content", .string(content))] + more)
        }
        return [
            JSONMember("url", .string(url)), JSONMember("method", .string(fields["method"]?.uppercased() ?? "POST")),
            JSONMember("headers", .headerFields(headers, isSensitive: isSecret)),
            JSONMember(
                "attemptHeaders",
                .array([
                    made("Upstash-Message-Id", "job"), made("Upstash-Retried", "retries"),
                    made("Upstash-Signature", "signature", [JSONMember("issuer", .string("Upstash"))]),
                ])),
        ]
    }

    /// The messages that tell of its attempts, which have its retries where they have none of their own.
    private static func callbacks(
        _ target: QStashTarget, _ fields: QStashFields, _ caller: String?, _ schedule: String?, isQueued: Bool
    ) throws -> [JSONMember] {
        var told: [JSONMember] = []
        if let group = target.group { told.append(JSONMember("topicName", .string(group))) }
        if let endpoint = target.endpoint { told.append(JSONMember("endpointName", .string(endpoint))) }
        if let caller { told.append(JSONMember("callerIP", .string(caller))) }
        if let schedule { told.append(JSONMember("scheduleId", .string(schedule))) }
        return try JobCallback.Occasion.allCases.compactMap { occasion in
            guard let destination = fields[occasion.control] else { return nil }
            let url = try QStashTarget.url(ofCallback: destination)
            let own = fields.callbacks[occasion] ?? QStashFields([])
            var labels = [JSONMember(QStashDoor.label, .string("message"))]
            labels.append(JSONMember(QStashDoor.labelOfURL, .string(digest(url))))
            if let caller { labels.append(JSONMember(QStashDoor.labelOfCaller, .string(caller))) }
            var callback = try outline(url, own, [])
            callback.append(JSONMember("content", .object(told)))
            callback.append(JSONMember("retry", .object(try retry(own, of: fields))))
            if let timeout = try own.duration("timeout") {
                callback.append(JSONMember("timeoutIntervalForRequest", .number(JSONNumber(timeout.seconds))))
            }
            callback.append(JSONMember("labels", .object(labels)))
            // The next message of the queue waits for it.
            if isQueued { callback.append(JSONMember("inFlow", .bool(true))) }
            return JSONMember(occasion.rawValue, .object(callback))
        }
    }

    // MARK: How it is delivered

    /// - Parameter message: Whose callback it is; nil for a message.
    private static func retry(_ fields: QStashFields, of message: QStashFields? = nil) throws -> [JSONMember] {
        let retries =
            try fields.integer("retries", in: 0...maximumRetries)
            ?? message?.integer("retries", in: 0...maximumRetries) ?? standardRetries
        var retry = [
            JSONMember("maximumAttempts", .number(JSONNumber(Int64(retries + 1)))),
            JSONMember("statuses", .array([.string("!2xx")])), JSONMember("replayUnsafe", .bool(true)),
            JSONMember("retryAfterScope", .string("job")),
            JSONMember(
                "final",
                .object([
                    JSONMember("status", .number(JSONNumber(Int64(489)))),
                    JSONMember("field", .string("Upstash-NonRetryable-Error")),
                ])),
        ]
        let saying = fields["retry-delay"] == nil ? message ?? fields : fields
        retry.append(JSONMember("backoff", .object(try backoff(saying))))
        return retry
    }

    private static func configuration(_ fields: QStashFields) throws -> JSONValue {
        var configuration = [
            JSONMember("redirects", .object([JSONMember("policy", .string("return"))])),
            JSONMember("cookies", .object([JSONMember("jar", .string("none"))])),
            JSONMember("authentication", .object([JSONMember("methods", .array([]))])),
            JSONMember("cache", .object([JSONMember("storagePolicy", .string("notAllowed"))])),
            JSONMember("retry", .object(try retry(fields))),
        ]
        // All attempts together may take as long as their waits do, which is longer than jobs have by default.
        var timeouts = [JSONMember("timeoutIntervalForResource", .number(JSONNumber(longestLife)))]
        if let timeout = try fields.duration("timeout") {
            timeouts.append(JSONMember("timeoutIntervalForRequest", .number(JSONNumber(timeout.seconds))))
        }
        configuration.append(JSONMember("timeouts", .object(timeouts)))
        return .object(configuration)
    }

    private static let milliseconds = ") / 1000"

    private static func backoff(_ fields: QStashFields) throws(Problem) -> [JSONMember] {
        guard let expression = fields["retry-delay"] else {
            return [
                JSONMember("initial", .number(JSONNumber(growth))), JSONMember("factor", .number(JSONNumber(growth))),
                JSONMember("maximum", .number(JSONNumber(longestWait))), JSONMember("jitter", .number(JSONNumber(0.0))),
            ]
        }
        do throws(WaitExpression.Failure) { _ = try WaitExpression(expression) } catch {
            throw fields.refusal("retry-delay", "\(error.message) (character \(error.position + 1))")
        }
        let seconds = "(\(expression)\(milliseconds)"
        guard seconds.utf8.count <= WaitExpression.maximumLength else {
            throw fields.refusal("retry-delay", "is too long")
        }
        return [JSONMember("expression", .string(seconds))]
    }

    /// The expression as its client wrote it.
    static func retryDelay(_ backoff: RetryPolicy.Backoff?) -> String? {
        guard case .computed(let expression) = backoff?.waits, expression.text.hasSuffix(milliseconds) else {
            return nil
        }
        return String(expression.text.dropFirst().dropLast(milliseconds.utf8.count))
    }

    private static func runAt(_ fields: QStashFields) throws(Problem) -> Timestamp? {
        if let seconds = try fields.integer("not-before", in: 0...32_503_680_000) {
            let time = Timestamp(microseconds: Int64(seconds) * 1_000_000)
            return time > DatabaseClock.now ? time : nil
        }
        guard let delay = try fields.duration("delay"), delay > .zero else { return nil }
        guard delay <= .seconds(31_536_000) else { throw fields.refusal("delay", "must be a year at most") }
        return DatabaseClock.now.advanced(by: delay)
    }

    /// `parallelism=5, rate=10, period=1m`.
    private static func limits(_ fields: QStashFields) throws -> SharedLimits {
        let name = "flow-control-value"
        var (members, jobs, period) = ([JSONMember](), Int64?.none, Duration.seconds(1))
        for part in (fields[name] ?? "").split(separator: ",", maxSplits: 10) {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
            guard pair.count == 2 else {
                throw fields.refusal(name, "must have the form parallelism=N, rate=N, period=T")
            }
            switch pair[0].lowercased() {
            case "parallelism":
                guard let count = Int64(pair[1]) else {
                    throw fields.refusal(name, "has a parallelism that is no number")
                }
                members.append(JSONMember("parallelism", .number(JSONNumber(count))))
            case "rate", "ratepersecond":
                guard let count = Int64(pair[1]) else { throw fields.refusal(name, "has a rate that is no number") }
                jobs = count
            case "period":
                guard let time = Duration(units: pair[1]) ?? Int64(pair[1]).map({ Duration.seconds($0) }) else {
                    throw fields.refusal(name, "has a period that is no time such as 10s")
                }
                period = time
            default: throw fields.refusal(name, "knows parallelism, rate and period only")
            }
        }
        if let jobs {
            let rate = [
                JSONMember("jobs", .number(JSONNumber(jobs))),
                JSONMember("period", .number(JSONNumber(period.seconds))),
            ]
            members.append(JSONMember("rate", .object(rate)))
        }
        guard !members.isEmpty else { throw fields.refusal("flow-control-key", "needs a parallelism or a rate") }
        return try SharedLimits(json: .object(members), of: .flow)
    }

    private static func labels(_ fields: QStashFields) throws(Problem) -> [JSONMember] {
        guard let text = fields["label"] else { return [] }
        var labels: [JSONMember] = []
        for part in text.split(separator: ",", maxSplits: maximumLabels) {
            let label = part.trimmingWhiteSpace
            guard !label.isEmpty, !labels.contains(where: { $0.value == .string(label) }) else { continue }
            guard label.utf8.count <= 50, labels.count < maximumLabels else {
                throw fields.refusal("label", "must have \(maximumLabels) labels of 50 bytes each at most")
            }
            labels.append(JSONMember(QStashDoor.ownLabelPrefix + label, .string(label)))
        }
        return labels
    }

    // MARK: Whether it is another one

    private static func uniqueKey(_ target: QStashTarget, _ fields: QStashFields, _ body: [UInt8]) -> String? {
        if let id = fields["deduplication-id"], !id.isEmpty {
            // Of a group, each has one of its own.
            return "qstash.id.\(digest(target.group.map { "\(id.utf8.count) \(id) \($0) \(target.url)" } ?? id))"
        }
        guard fields.isTrue("content-based-deduplication") else { return nil }
        var hash = SHA256()
        // Each part behind its length, so that no two messages have the same text.
        func add(_ bytes: [UInt8]) {
            hash.update(data: Array("\(bytes.count):".utf8))
            hash.update(data: bytes)
        }
        add(Array(target.url.utf8))
        add(body)
        add(Array((fields.contentType ?? "").utf8))
        for (name, value) in fields.forwarded.map({ ($0.name.lowercased(), $0.value) }).sorted(by: <) {
            add(Array(name.utf8))
            add(Array(value.utf8))
        }
        return "qstash.content.\(SHA256Digest(hash.finalize()).hexadecimal(32))"
    }
}

extension QStashMessage {
    /// The value of a label of the door's own.
    static func label(_ name: String, of spec: JobSpec) -> String? { spec.labels.first { $0.name == name }?.value }

    /// Whether a job, or the template of a schedule's, is a message.
    static func isMessage(_ spec: JobSpec) -> Bool { label(QStashDoor.label, of: spec) != nil }

    /// Writes a message as QStash shows one; nil for a job that is none.
    static func json(_ job: Job) -> [UInt8]? {
        guard let spec = job.storedSpec, isMessage(spec) else { return nil }
        return JSONWriter.object { write(job, spec, &$0) }
    }

    static func write(_ job: Job, _ spec: JobSpec, _ writer: inout JSONWriter) {
        writer.member("messageId", job.id.description)
        writer.member("url", "\(spec.request.url)")
        writer.member("maxRetries", retries(of: spec))
        writer.member("notBefore", (spec.runAt ?? job.createdAt).microseconds / 1000)
        writer.member("createdAt", job.createdAt.microseconds / 1000)
        writer.member("scheduleId", label(QStashDoor.labelOfSchedule, of: spec))
        writeContent(of: spec, &writer)
    }

    static func retries(of spec: JobSpec) -> Int {
        (spec.configuration.retry.maximumAttempts ?? standardRetries + 1) - 1
    }

    /// The labels of its client.
    private static func labels(of spec: JobSpec) -> [String] {
        spec.labels.filter { $0.name.hasPrefix(QStashDoor.ownLabelPrefix) }.map(\.value)
    }

    /// What a message and a schedule have in common.
    static func writeContent(of spec: JobSpec, _ writer: inout JSONWriter) {
        writer.member("method", spec.request.method.rawValue)
        writer.member("header", object: { write(spec.request, &$0) })
        write(spec.request.body, &writer)
        for callback in spec.callbacks {
            let (name, request) = (callback.occasion.member, callback.job.request)
            writer.member(name, "\(request.url)")
            if request.headers.contains(where: isForwarded) {
                writer.member("\(name)Header", object: { write(request, &$0) })
            }
        }
        writer.member("retryDelayExpression", retryDelay(spec.configuration.retry.backoff))
        writeLabels(of: spec, &writer)
    }

    /// What is known of where a message comes from and goes to.
    static func writeLabels(of spec: JobSpec, _ writer: inout JSONWriter) {
        let labels = labels(of: spec)
        writer.member("callerIP", label(QStashDoor.labelOfCaller, of: spec))
        writer.member("topicName", label(QStashDoor.labelOfGroup, of: spec))
        writer.member("endpointName", label(QStashDoor.labelOfEndpoint, of: spec))
        writer.member("queueName", label(QStashDoor.labelOfQueue, of: spec))
        writer.member("flowControlKey", label(QStashDoor.labelOfKey, of: spec))
        writer.member("label", labels.first)
        if !labels.isEmpty { writer.member("labels", array: { writer in labels.forEach { writer.value($0) } }) }
    }

    /// Fields that the service adds.
    private static let ownFields: Set = ["upstash-caller-ip", "upstash-schedule-id", "upstash-topic-name"]

    private static func isForwarded(_ field: HTTPField) -> Bool {
        !ownFields.contains(field.name.canonicalName) && !(field.name == .userAgent && field.value == "Upstash-QStash")
    }

    /// The fields that its client forwards, each with the list of its values.
    private static func write(_ request: JobRequest, _ writer: inout JSONWriter) {
        writer.grouped(request.headers.filter(isForwarded).map { ($0.name.rawName, $0.value) })
    }

    private static func write(_ body: JobBody?, _ writer: inout JSONWriter) {
        switch body {
        case .text(let text): writer.member("body", text)
        case .base64(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                writer.member("body", text)
            } else {
                writer.member("bodyBase64", Data(bytes).base64EncodedString())
            }
        case .json(let value): writer.member("body", value.json)
        default: break
        }
    }
}

extension JSONWriter {
    /// Members for header fields, each with the list of its values.
    mutating func grouped(_ fields: [(name: String, value: String)]) {
        for (name, values) in HTTPField.grouped(fields) {
            member(name, array: { writer in values.forEach { writer.value($0) } })
        }
    }
}

extension JobCallback.Occasion {
    /// What a message shows its URL as.
    var member: String {
        switch self {
        case .attempt: "callback"
        case .failure: "failureCallback"
        }
    }
}
