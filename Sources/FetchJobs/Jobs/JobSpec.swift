package import FetchEngine
import HTTPTypes

/// The submission of a job: the body of the request, the `spec` column, and the input of a worker.
///
/// A value that exists is valid: the only ways to make one are the JSON reader here and, in tests, the memberwise form.
package struct JobSpec: Sendable, Equatable {
    /// The kind of task of the URL Loading System.
    package enum Kind: String, Sendable, CaseIterable {
        case data
        /// Its response becomes a file.
        case download
        /// A data task that sends a body.
        case upload
    }

    /// Whether a person waited when the client submitted it (SES-5).
    package enum Initiation: String, Sendable, CaseIterable {
        case interactive
        case background
    }

    package var kind: Kind = .data
    /// The session it belongs to; nil for the tenant's default session.
    package var session: TenantSession.ID?
    package var request: JobRequest
    /// The members that the job sets itself; the session has the others.
    package var configuration = Configuration()
    /// From 0 to 1; of two jobs that wait, the one with more goes first.
    package var priority: Double = 0.5
    /// Not to start before.
    package var runAt: Timestamp?
    /// The seconds after which its client wanted it to start, in place of a time; ``runAt`` is that time.
    ///
    /// It is not stored.
    package var delay: Double?
    /// When it is given up, whether it waits or runs.
    package var expiresAt: Timestamp?
    /// Held from the start, until its client resumes it; the state of the job says whether it still is.
    package var isSuspended = false
    /// It waits for a time at which some node has little to do, up to ``patience`` (SES-15).
    package var isDiscretionary = false
    package var initiated = Initiation.interactive
    /// The flow whose limits it keeps.
    package var flow: Flow?
    /// The key by which it is taken for an earlier job; nil for none.
    package var unique: UniqueKey?
    /// The client's own words about the job.
    package var labels: [Label] = []
    /// The partial file of an earlier download, which this one continues.
    package var resumeFrom: Blob.ID?
    /// Where the job's events are sent, when anywhere.
    package var webhook: Webhook?
    /// The jobs that tell of its attempts, one for each occasion at most.
    package var callbacks: [JobCallback] = []
    /// The group it belongs to, if any.
    package var group: JobGroup.ID?
    /// The schedule that made it, which clients cannot say.
    package var schedule: Schedule.ID?
    /// The schedule's time that it was made for; nil when a client asked for it.
    package var scheduledAt: Timestamp?
    /// Its place in the trace of the request that has submitted it, whose fields say it; nil for none.
    package var trace: TraceContext?

    package struct Label: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package struct Webhook: Sendable, Equatable {
        /// Nil as long as only its address is known.
        package var endpoint: WebhookEndpoint.ID?
        /// The address that a client has given in place of an endpoint.
        package var url: URLRecord?
        /// The events that are sent; nil for those that the endpoint lists.
        package let events: [WebhookEvent]?
        /// How many bytes a body may have to come along in the message of the job's end; nil for none.
        package let includeBodyUpTo: Int64?
    }

    package init(request: JobRequest) { self.request = request }

    /// Whether its end may leave a body that is stored: a response to HEAD has none (RFC 9110 §9.3.2).
    package var mayLeaveBody: Bool { request.method != .head }

    /// The state of the job when it is stored.
    package var firstState: JobState {
        if isSuspended { return .suspended }
        if isDiscretionary { return .scheduled }
        return runAt.map { $0 > DatabaseClock.now } == true ? .scheduled : .queued
    }
}

extension JobSpec {
    package static let maximumLabels = 32
    /// Up to a year, in seconds.
    static let delays = 0.0...31_536_000
    /// How long a discretionary job waits for a quiet time.
    package static let patience = Duration.seconds(3600)

    /// Reads and checks a submission.
    ///
    /// - Parameter others: Members of the object that are not the job's.
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue, besides others: Set<String> = []) throws(InvalidInput) {
        try self.init(json, besides: others, isStored: false)
        for (credential, pointer) in configuration.credentials where credential == .sealed {
            throw InvalidInput(pointer: pointer, message: "is not the id of a credential (crd_…)")
        }
        try requireSecrets()
    }

    /// Reads what ``json`` wrote: a credential that came with the job is ``JobCredential/sealed`` then.
    package init(stored json: JSONValue) throws(InvalidInput) { try self.init(json, isStored: true) }

    /// Refuses a job that has the redaction in place of its secrets.
    package func requireSecrets() throws(InvalidInput) {
        let redactions = request.redactions
        guard !redactions.isEmpty else { return }
        throw InvalidInput(
            redactions.map { Violation(pointer: $0, message: "is redacted: the secret itself is needed (redacted)") })
    }

    private init(_ json: JSONValue, besides others: Set<String> = [], isStored: Bool) throws(InvalidInput) {
        let check = InputCheck()
        let spec = JobSpec(reader: JSONReader(json, check: check), besides: others, isStored: isStored)
        try check.finish()
        guard let spec else { throw InvalidInput(pointer: "", message: "is not a job") }
        self = spec
    }

    private static let names: Set = [
        "kind", "session", "request", "configuration", "priority", "runAt", "delay", "expiresAt", "suspended",
        "discretionary", "initiated", "flow", "unique", "labels", "resumeFrom", "webhook", "callbacks", "group",
    ]
    /// The members of stored jobs, including those that only the service sets.
    private static let storedNames = names.subtracting(["delay"]).union(["schedule", "scheduledAt", "trace"])

    private init?(reader: JSONReader, besides others: Set<String>, isStored: Bool) {
        let names = isStored ? Self.storedNames : Self.names
        guard let object = reader.object(of: names, besides: others, refusing: Self.refused) else { return nil }
        // What the API stores is a list; what SQL stores was looked through for secrets only where it is one.
        if isStored, case .object? = object["request"]?.value.member("headers") {
            object["request"]?.refuse("must have a list as its headers")
        }
        var userInfo: Credential?
        let request = object.required("request").flatMap { JobRequest(reader: $0, userInfo: &userInfo) }
        kind = object["kind"]?.oneOf(Kind.self) ?? .data
        session = object["session"].flatMap { TenantSession.ID(reader: $0) }
        configuration = object["configuration"].map { Configuration(reader: $0) } ?? Configuration()
        // A client that names the default session wants its cookies; one that names none does not.
        if object["session"] != nil, session == nil, configuration.cookies.jar == nil {
            configuration.cookies.jar = .session
        }
        priority = object["priority"]?.number(in: 0...1) ?? 0.5
        runAt = object["runAt"]?.timestamp()
        delay = object["delay"]?.number(in: Self.delays)
        if let delay {
            if runAt != nil { object["delay"]?.refuse("cannot be beside runAt") }
            runAt = DatabaseClock.now.advanced(by: .seconds(delay))
        }
        expiresAt = object["expiresAt"]?.timestamp()
        isSuspended = object["suspended"]?.bool() ?? false
        isDiscretionary = object["discretionary"]?.bool() ?? false
        initiated = object["initiated"]?.oneOf(Initiation.self) ?? .interactive
        flow = object["flow"].flatMap { Flow(reader: $0) }
        unique = object["unique"].flatMap { UniqueKey(reader: $0) }
        labels = object["labels"].map { Self.labels($0) } ?? []
        webhook = object["webhook"].flatMap { Webhook(reader: $0, choosesEvents: true) }
        callbacks = object["callbacks"].map { JobCallback.all($0, isStored: isStored) } ?? []
        group = object["group"]?.identifier("a group (grp_…)")
        schedule = object["schedule"]?.identifier("a schedule (sch_…)")
        scheduledAt = object["scheduledAt"]?.timestamp()
        trace = object["trace"].flatMap { TraceContext(reader: $0) }
        if let userInfo {
            if configuration.authentication.credential != nil {
                reader.check.refuse("/request/url", "must not hold a user name or password beside a credential")
            }
            configuration.authentication.credential = .inline(userInfo)
        }
        guard let request else { return nil }
        self.request = request
        resumeFrom = object["resumeFrom"].flatMap { JobBody.blob($0) }
        if resumeFrom != nil, kind != .download { object["resumeFrom"]?.refuse("is for downloads") }
        if kind == .upload { requireContent(reader.check) }
        if !request.mirrors.isEmpty { requireDownload(reader.check) }
        if request.url.isFTP, !Self.methodsOfFTP.contains(request.method) {
            reader.check.refuse("/request/method", "must be GET, HEAD, PUT or POST for an ftp URL (methodInvalid)")
        }
        if !isStored { checkQuestions(reader.check) }
        check(reader.check)
    }

    private static let refused: KeyValuePairs = [
        "schedule": "is said by the service alone", "scheduledAt": "is said by the service alone",
        "trace": "is said by the fields traceparent and tracestate of the request",
    ]

    /// Tells which rules between members are broken that may change.
    func check(_ check: InputCheck) {
        if let runAt, let expiresAt, expiresAt <= runAt { check.refuse("/expiresAt", "must be after runAt") }
        for callback in callbacks where callback.isInFlow && flow == nil {
            check.refuse("\(callback.pointer)/inFlow", "is for jobs with a flow")
        }
        if labels.count > Self.maximumLabels { check.refuse("/labels", "has more than \(Self.maximumLabels) labels") }
    }

    private static let methodsOfFTP: Set<HTTPRequest.Method> = [.get, .head, .put, .post]

    private func requireDownload(_ check: InputCheck) {
        if kind != .download { check.refuse("/request/mirrors", "is for downloads") }
        if !request.url.isHTTP, !request.url.isFTP {
            check.refuse("/request/mirrors", "must be left out where the URL is neither http, https, ftp nor ftps")
        }
    }

    private func requireContent(_ check: InputCheck) {
        if request.body == nil { check.refuse("/request/body", "is required for an upload") }
        if request.method == .get || request.method == .head {
            check.refuse("/request/method", "must be one that sends a body, such as PUT, for an upload")
        }
    }

    static func labels(_ reader: JSONReader) -> [Label] {
        guard let members = reader.dictionary() else { return [] }
        return members.compactMap { Label(name: $0, reader: $1) }
    }

    static func write(_ labels: [Label], _ writer: inout JSONWriter) {
        for label in labels { writer.member(label.name, label.value) }
    }

    /// The blobs that the job needs, and where it names them.
    package var blobs: [(id: Blob.ID, pointer: String)] {
        (request.body?.blobs ?? []) + (resumeFrom.map { [($0, "/resumeFrom")] } ?? [])
    }

    /// The spec as JSON with every default left out that the client left out, and without secrets.
    ///
    /// ``init(stored:)`` reads it back.
    package var json: [UInt8] { json(.redacted) }

    func json(_ form: SecretForm) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("kind", kind.rawValue)
            writer.member("session", session?.description)
            writer.member("request", object: { request.write(&$0, form) })
            if !configuration.isEmpty { writer.member("configuration", object: configuration.write) }
            writer.member("priority", priority)
            writer.member("runAt", runAt?.description)
            writer.member("expiresAt", expiresAt?.description)
            if isDiscretionary { writer.member("discretionary", true) }
            if initiated != .interactive { writer.member("initiated", initiated.rawValue) }
            if let flow { writer.member("flow", object: { $0.member("key", flow.key) }) }
            if let unique { writer.member("unique", object: unique.write) }
            if !labels.isEmpty { writer.member("labels", object: { Self.write(labels, &$0) }) }
            writer.member("resumeFrom", resumeFrom?.description)
            if let webhook { writer.member("webhook", object: webhook.write) }
            if !callbacks.isEmpty {
                writer.member(
                    "callbacks",
                    object: { writer in
                        for callback in callbacks {
                            writer.member(callback.occasion.rawValue, object: { callback.write(&$0, form) })
                        }
                    })
            }
            writer.member("group", group?.description)
            writer.member("schedule", schedule?.description)
            writer.member("scheduledAt", scheduledAt?.description)
            if let trace { writer.member("trace", object: trace.write) }
        }
    }
}

extension JobSpec.Label {
    private static let maximumNameBytes = 64
    private static let maximumValueBytes = 256

    /// The labels of a filter: `label`, as queries write one, and `labels` for several.
    static func ofFilter(_ object: JSONObjectReader) -> [Self] {
        let several = object["labels"].map { JobSpec.labels($0) } ?? []
        guard let reader = object["label"],
            let text = reader.string(maximumLength: maximumNameBytes + 1 + maximumValueBytes)
        else { return several }
        guard let label = Self(text) else {
            reader.refuse("must be a name, a colon and a value")
            return several
        }
        return [label] + several
    }

    /// The label that a text is: its name, a colon and its value.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        self.init(name: String(text[..<colon]), value: String(text[text.index(after: colon)...]))
    }

    init?(name: String, reader: JSONReader) {
        if name.isEmpty || name.utf8.count > Self.maximumNameBytes {
            reader.refuse("a label's name has 1 to \(Self.maximumNameBytes) bytes")
        }
        guard let value = reader.string(maximumLength: Self.maximumValueBytes) else { return nil }
        self.init(name: name, value: value)
    }
}

extension JobSpec.Webhook {
    /// - Parameter choosesEvents: Whether it may choose the events; otherwise its endpoint does.
    init?(reader: JSONReader, choosesEvents: Bool = false) {
        let names: Set = choosesEvents ? ["endpoint", "url", "events", "includeBodyUpTo"] : ["endpoint", "url"]
        guard let object = reader.object(of: names) else { return nil }
        endpoint = object["endpoint"]?.endpointID()
        url = object["url"]?.webhookURL()
        events = object["events"]?.webhookEvents()
        includeBodyUpTo = object["includeBodyUpTo"]?.integer(in: 1...Int64(Blob.inlineLimit))
        if (object["endpoint"] == nil) == (object["url"] == nil) {
            reader.refuse("must have either \"endpoint\" or \"url\"")
        }
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("endpoint", endpoint?.description)
        writer.member("url", url?.description)
        if let events {
            writer.member("events", array: { writer in events.forEach { writer.value($0.rawValue) } })
        }
        writer.member("includeBodyUpTo", includeBodyUpTo)
    }
}

extension TenantSession.ID {
    /// The session a job names; nil for the default session, by any of its names.
    fileprivate init?(reader: JSONReader) {
        guard let text = reader.string(maximumLength: 64), text != "default" else { return nil }
        guard let id = Self(text) else {
            reader.refuse("is not the id of a session (ses_…)")
            return nil
        }
        guard id != .default else { return nil }
        self = id
    }
}
