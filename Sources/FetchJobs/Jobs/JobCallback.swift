import FetchEngine
import FoundationEssentials
package import HTTPTypes

/// A job that is stored with the end of an attempt of another one, and tells of it.
package struct JobCallback: Sendable, Equatable {
    package enum Occasion: String, Sendable, CaseIterable {
        /// Every attempt that got an answer, or failed without one.
        case attempt
        /// The end of a job that failed.
        case failure
    }

    package let occasion: Occasion
    /// Its body is the content that its client has given, an object, to which the members are added that tell.
    package var job: JobSpec
    /// Whether it takes over the slot in the flow of the job whose end it tells, so that the next job of a flow with an
    /// order waits for it too.
    package let isInFlow: Bool

    package init(_ occasion: Occasion, _ job: JobSpec, isInFlow: Bool = false) {
        (self.occasion, self.job, self.isInFlow) = (occasion, job, isInFlow)
    }

    var name: String { "callbacks.\(occasion.rawValue)" }
    var pointer: String { "/callbacks/\(occasion.rawValue)" }
}

extension JobCallback {
    private static let names: Set = [
        "url", "method", "headers", "attemptHeaders", "content", "retry", "timeoutIntervalForRequest", "labels",
        "inFlow",
    ]
    /// In seconds: the waits between attempts may be long.
    private static let longestLife = 31_536_000.0

    static func all(_ reader: JSONReader, isStored: Bool) -> [JobCallback] {
        guard let object = reader.object(of: Set(Occasion.allCases.map(\.rawValue))) else { return [] }
        return Occasion.allCases.compactMap { occasion in
            object[occasion.rawValue].flatMap { JobCallback(occasion, $0, isStored: isStored) }
        }
    }

    private init?(_ occasion: Occasion, _ reader: JSONReader, isStored: Bool) {
        guard let object = reader.object(of: Self.names), let url = object.required("url"), url.httpURL() != nil else {
            return nil
        }
        if let content = object["content"], case .object = content.value {
        } else {
            object["content"]?.refuse("must be an object")
        }
        let job: JobSpec
        do throws(InvalidInput) {
            let json = Self.submission(object, url.value)
            job = try isStored ? JobSpec(stored: json) : JobSpec(json: json)
        } catch {
            for violation in Self.placed(error.violations) {
                reader.check.refuse(reader.pointer + violation.pointer, violation.message)
            }
            return nil
        }
        if job.labels.contains(where: { $0.name == Self.label }) {
            object["labels"]?.refuse("has \(Self.label), which is said by the service alone")
        }
        if job.labels.count >= JobSpec.maximumLabels {
            object["labels"]?.refuse("has more than \(JobSpec.maximumLabels - 1) labels")
        }
        self.init(occasion, job, isInFlow: object["inFlow"]?.bool() ?? false)
    }

    /// The job that it is: it shows nothing that the tenant has stored, and stores nothing that it is given.
    private static func submission(_ object: JSONObjectReader, _ url: JSONValue) -> JSONValue {
        var request = [JSONMember("url", url), JSONMember("method", object["method"]?.value ?? .string("POST"))]
        for name in ["headers", "attemptHeaders"] {
            if let value = object[name]?.value { request.append(JSONMember(name, value)) }
        }
        request.append(JSONMember("body", .object([JSONMember("json", object["content"]?.value ?? .object([]))])))
        var timeouts = [JSONMember("timeoutIntervalForResource", .number(JSONNumber(longestLife)))]
        if let timeout = object["timeoutIntervalForRequest"]?.value {
            timeouts.append(JSONMember("timeoutIntervalForRequest", timeout))
        }
        func words(_ name: String, _ value: JSONValue) -> JSONValue { .object([JSONMember(name, value)]) }
        var configuration = [
            JSONMember("redirects", words("policy", .string("return"))),
            JSONMember("cookies", words("jar", .string("none"))),
            JSONMember("authentication", words("methods", .array([]))),
            JSONMember("cache", words("storagePolicy", .string("notAllowed"))),
            JSONMember("timeouts", .object(timeouts)),
        ]
        if let retry = object["retry"]?.value { configuration.append(JSONMember("retry", retry)) }
        var job = [
            JSONMember("request", .object(request)), JSONMember("configuration", .object(configuration)),
        ]
        if let labels = object["labels"]?.value { job.append(JSONMember("labels", labels)) }
        return .object(job)
    }

    /// What is wrong with the job, by the members of the callback.
    static func placed(_ violations: [Violation]) -> [Violation] {
        violations.map { violation in
            var pointer = violation.pointer
            for (place, own) in [
                ("/request/body/json", "/content"), ("/request", ""), ("/configuration/timeouts", ""),
                ("/configuration", ""),
            ] where pointer.hasPrefix(place) {
                pointer = own + pointer.dropFirst(place.utf8.count)
                break
            }
            return Violation(pointer: pointer, message: violation.message)
        }
    }

    /// Writes its members, as clients give them.
    func write(_ writer: inout JSONWriter, _ form: SecretForm) {
        writer.member("url", job.request.url.description)
        writer.member("method", job.request.method.rawValue)
        if !job.request.headers.isEmpty {
            writer.member("headers", array: { writer in job.request.headers.forEach { $0.write(&writer, form) } })
        }
        if !job.request.attemptHeaders.isEmpty {
            writer.member(
                "attemptHeaders", array: { writer in job.request.attemptHeaders.forEach { $0.write(&writer) } })
        }
        if case .json(let content) = job.request.body, content != .object([]) {
            writer.name("content")
            writer.value(content)
        }
        let configuration = try? JSONParser.parse(JSONWriter.object(job.configuration.write))
        if let retry = configuration?.member("retry") {
            writer.name("retry")
            writer.value(retry)
        }
        writer.member("timeoutIntervalForRequest", job.configuration.timeouts.timeoutIntervalForRequest?.seconds)
        if !job.labels.isEmpty { writer.member("labels", object: { JobSpec.write(job.labels, &$0) }) }
        if isInFlow { writer.member("inFlow", true) }
    }
}

extension [Violation] {
    /// The same of a value that lies in another.
    func prefixed(by pointer: String) -> [Violation] {
        map { Violation(pointer: pointer + $0.pointer, message: $0.message) }
    }
}

// MARK: What it tells

/// How an attempt has ended, as callbacks tell of it.
///
/// An object, so that the frames of jobs have a reference.
package final class AttemptReport: Sendable {
    private let job: Job.ID
    private let tenant: Tenant.ID
    private let spec: JobSpec
    /// How many attempts there were before.
    private let retried: Int
    private let outcome: JobOutcome?
    /// Why there is none.
    private let loss: String?
    /// Of the response; nil where there is none, or a long one.
    private let body: [UInt8]?

    package init(of job: ClaimedJob, _ outcome: JobOutcome, body: [UInt8]?) {
        (self.job, tenant, spec, retried) = (job.id, job.tenant, job.spec, job.tries)
        (self.outcome, loss, self.body) = (outcome, nil, body)
    }

    /// That of a job that was given up where no node ran it.
    ///
    /// - Parameter error: The name of its error.
    package init(of job: Job.ID, _ tenant: Tenant.ID, _ spec: JobSpec, lostBy error: String) {
        (self.job, self.tenant, self.spec, retried) = (job, tenant, spec, 0)
        (outcome, loss, body) = (nil, error, nil)
    }

    /// The jobs that tell of it, each with an id of its own.
    ///
    /// - Parameter isEnd: Whether the attempt is the end of its job, whose slot in its flow they may take over.
    package func callbacks(_ occasions: Set<JobCallback.Occasion>, isEnd: Bool) -> [NewJob] {
        spec.callbacks.filter { occasions.contains($0.occasion) }.map { callback in
            var told = callback.job
            told.request.body = .json(.object(content(for: callback)))
            told.labels.append(JobSpec.Label(name: JobCallback.label, value: job.description))
            if isEnd, callback.isInFlow { told.flow = spec.flow }
            return NewJob(tenant: tenant, spec: told)
        }
    }

    private func content(for callback: JobCallback) -> [JSONMember] {
        let own: [JSONMember] =
            if case .json(.object(let members)) = callback.job.request.body { members } else { [] }
        let created = job.uuid.time.microseconds / 1000
        var members = [
            JSONMember("status", .number(JSONNumber(Int64(outcome?.status ?? 0)))),
            JSONMember("header", .object(Self.fields(of: outcome?.response?.named))),
            JSONMember("retried", .number(JSONNumber(Int64(retried)))),
            JSONMember("sourceMessageId", .string(job.description)),
            JSONMember("url", .string(spec.request.urlForm.text(of: spec.request.url))),
            JSONMember("method", .string(spec.request.method.rawValue)),
            JSONMember("sourceHeader", .object(Self.grouped(shownFields))),
            JSONMember(
                "notBefore", .number(JSONNumber(spec.runAt.map { max($0.microseconds / 1000, created) } ?? created))),
            JSONMember("createdAt", .number(JSONNumber(created))),
        ]
        if let attempts = spec.configuration.retry.maximumAttempts {
            members.append(JSONMember("maxRetries", .number(JSONNumber(Int64(attempts - 1)))))
        }
        if let error = loss ?? outcome?.errorName {
            members.append(JSONMember("error", .string(error)))
        }
        if callback.occasion == .failure { members.append(JSONMember("dlqId", .string(job.description))) }
        var room = JobCallback.maximumBytes - JSONValue.object(own + members).json.utf8.count
        for (name, bytes) in [("body", body), ("sourceBody", sourceBody)] {
            guard let bytes, !bytes.isEmpty else { continue }
            let text = Data(bytes).base64EncodedString()
            guard text.utf8.count + 32 <= room else { continue }
            room -= text.utf8.count + 32
            members.append(JSONMember(name, .string(text)))
        }
        let taken = Set(members.map(\.name))
        return own.filter { !taken.contains($0.name) } + members
    }

    /// Without what is secret.
    private var shownFields: [(name: String, value: String)] {
        spec.request.headers.filter { !$0.isSensitive }.map { ($0.name.rawName, $0.value) }
    }

    private var sourceBody: [UInt8]? {
        guard !spec.request.sensitive.contains(.body) else { return nil }
        return switch spec.request.body {
        case .text(let text): Array(text.utf8)
        case .base64(let bytes): bytes
        case .json(let value): Array(value.json.utf8)
        default: nil
        }
    }

    private static func fields(of response: RawJSON?) -> [JSONMember] {
        guard let response, response.bytes.count <= JobCallback.maximumBytes / 4,
            let json = try? JSONParser.parse(response.bytes)
        else { return [] }
        let fields = (json.member("headers")?.elements ?? []).compactMap { field -> (name: String, value: String)? in
            guard let name = field.member("name")?.text, let value = field.member("value")?.text else { return nil }
            return (name, value)
        }
        return grouped(fields)
    }

    /// Each name once, with the list of its values.
    private static func grouped(_ fields: [(name: String, value: String)]) -> [JSONMember] {
        HTTPField.grouped(fields).map { name, values in
            JSONMember(name, .array(values.map { .string($0) }))
        }
    }
}

extension JobCallback {
    /// How many bytes its body may have: the body of the response is left out where there is no room for it, and so is
    /// that of the request.
    package static let maximumBytes = 1 << 20

    /// Names the job that a callback tells of.
    package static let label = "callbackOf"
}

extension HTTPField {
    /// Fields under their names in the case of `Content-Type`, each with the list of its values.
    package static func grouped(_ fields: [(name: String, value: String)]) -> [(name: String, values: [String])] {
        var grouped: [(name: String, values: [String])] = []
        var places: [String: Int] = [:]
        for (name, value) in fields {
            let name = inTitleCase(name)
            if let place = places[name] {
                grouped[place].values.append(value)
            } else {
                places[name] = grouped.count
                grouped.append((name, [value]))
            }
        }
        return grouped
    }

    /// `content-type` as `Content-Type`.
    package static func inTitleCase(_ name: String) -> String {
        name.split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: "-")
    }
}
