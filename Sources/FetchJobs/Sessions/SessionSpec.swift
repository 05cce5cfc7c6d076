import FetchEngine

/// The submission of a session; it never changes (SES-17).
///
/// A value that exists is valid, as a ``JobSpec`` is.
package struct SessionSpec: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// With stores that last.
        case `default`
        /// In the memory of one node alone.
        case ephemeral
        /// For uploads and downloads that go on while the client is gone.
        case background
    }

    package var kind = Kind.default
    /// The client's name for its background session, to find it again (BKG-1).
    package var identifier: String?
    /// The client's own words about the session.
    package var description: String?
    package var configuration = Configuration()
    /// The snapshot with the first contents of the session's stores; nil for empty stores.
    package var snapshot: SessionSnapshot.ID?
    /// The names of the registered protocols that its jobs have, in the order of asking; nil for all of the tenant's
    /// (PRT-3).
    package var protocols: [String]?
    /// Where the session's events go, and those of its jobs that name no endpoint.
    ///
    /// A background session has one, or a delegate (BKG-3).
    package var webhook: JobSpec.Webhook?

    package init(kind: Kind = .default) { self.kind = kind }

    package static let maximumIdentifier = 255
}

extension SessionSpec {
    /// Reads and checks the request for a session.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let names: Set = ["kind", "identifier", "description", "configuration", "snapshot", "protocols", "webhook"]
        let check = InputCheck()
        let reader = JSONReader(json, check: check)
        if let object = reader.object(of: names) {
            kind = object["kind"]?.oneOf(Kind.self) ?? .default
            identifier = object["identifier"]?.string(maximumLength: Self.maximumIdentifier)
            description = object["description"]?.string(maximumLength: 1024)
            configuration = object["configuration"].map { Configuration(reader: $0) } ?? Configuration()
            snapshot = object["snapshot"].flatMap { SessionSnapshot.ID(reader: $0) }
            protocols = object["protocols"]?.array(maximum: RegisteredProtocol.maximumCount)?
                .compactMap { $0.string(maximumLength: 64) }
            webhook = object["webhook"].flatMap { JobSpec.Webhook(reader: $0) }
        }
        checkRules(check)
        try check.finish()
    }

    /// The rules between the members (BKG-1, BKG-3, BKG-5).
    private func checkRules(_ check: InputCheck) {
        for (credential, pointer) in configuration.credentials {
            if case .stored = credential { continue }
            check.refuse(pointer, "must be the id of a credential (crd_…)")
        }
        switch kind {
        case .default: break
        case .ephemeral:
            if snapshot != nil { check.refuse("/snapshot", "cannot be had by an ephemeral session: it is stored") }
            if webhook != nil { check.refuse("/webhook", "cannot be had by an ephemeral session: an event is stored") }
            Self.checkMemory(of: configuration, check)
        case .background:
            if protocols != nil {
                check.refuse("/protocols", "cannot be had by a background session: it loads http and https alone")
            }
            if identifier?.isEmpty ?? true { check.refuse("/identifier", "is required of a background session") }
            if webhook == nil, configuration.delegate.via == nil {
                check.refuse("/webhook", "is required of a background session without a delegate")
            }
            Self.checkRedirects(of: configuration, check)
        }
        if kind != .background, identifier != nil {
            check.refuse("/identifier", "is for background sessions only")
        }
    }

    private static func checkMemory(of configuration: Configuration, _ check: InputCheck) {
        configuration.refuse(
            check, word: .becomeDownload, "cannot be \"becomeDownload\" in an ephemeral session: a file is stored")
        if configuration.upload.spoolBytes != nil {
            check.refuse("/configuration/upload/spoolBytes", "cannot be had in an ephemeral session: a file is stored")
        }
        guard let rule = configuration.response.becomeDownload, rule != .init() else { return }
        let pointer = "/configuration/response/becomeDownload"
        check.refuse(pointer, "cannot be had in an ephemeral session: a file is stored")
    }

    private static func checkRedirects(of configuration: Configuration, _ check: InputCheck) {
        configuration.refuse(check) { Kind.background.refusal(of: $0) }
        guard let policy = configuration.redirects.policy, policy != .follow else { return }
        check.refuse("/configuration/redirects/policy", "must be \"follow\" in a background session")
    }

    /// Refuses a job that a session of this kind cannot have (BKG-4, BKG-5, SES-3).
    package func check(_ job: JobSpec) throws(InvalidInput) {
        let check = InputCheck()
        switch kind {
        case .default: break
        case .ephemeral:
            if job.webhook != nil {
                check.refuse("/webhook", "cannot be had in an ephemeral session: an event is stored")
            }
            if !job.callbacks.isEmpty {
                check.refuse("/callbacks", "cannot be had in an ephemeral session: they are stored")
            }
            if job.isDiscretionary {
                check.refuse("/discretionary", "cannot be had in an ephemeral session: what waits is stored")
            }
            if job.group != nil {
                check.refuse("/group", "cannot be had in an ephemeral session: who belongs to it is stored")
            }
            if !job.kind.fitsMemory {
                check.refuse("/kind", "cannot be \"\(job.kind.rawValue)\" in an ephemeral session")
            }
            Self.checkMemory(of: job.configuration, check)
            for blob in job.blobs {
                check.refuse(blob.pointer, "cannot be had in an ephemeral session: that a job sends a blob is stored")
            }
        case .background:
            if !job.kind.fitsBackground {
                check.refuse("/kind", "must be an upload or a download in a background session")
            }
            if !job.request.url.isHTTP {
                check.refuse("/request/url", "must be an http or https URL in a background session")
            }
            if !job.request.mirrors.allSatisfy(\.isHTTP) {
                check.refuse("/request/mirrors", "must be http or https URLs in a background session")
            }
            if let body = job.request.body, !body.isBlob {
                check.refuse("/request/body", "must be a blob in a background session")
            }
            Self.checkRedirects(of: job.configuration, check)
        }
        try check.finish()
    }

    /// The job as it runs here: one that is started in the background of a background session may wait (BKG-6).
    package func adapted(_ job: JobSpec) -> JobSpec {
        guard kind == .background, job.initiated == .background else { return job }
        var job = job
        job.isDiscretionary = true
        return job
    }

    /// Writes the members as the client gave them; ``init(json:)`` reads them back.
    package func write(_ writer: inout JSONWriter) {
        writer.member("kind", kind.rawValue)
        writer.member("identifier", identifier)
        writer.member("description", description)
        if !configuration.isEmpty { writer.member("configuration", object: configuration.write) }
        writer.member("snapshot", snapshot?.description)
        if let protocols { writer.member("protocols", array: { writer in protocols.forEach { writer.value($0) } }) }
        if let webhook { writer.member("webhook", object: webhook.write) }
    }
}

extension JobBody {
    /// Whether it lies where it can be read again whenever the job runs (BKG-4).
    fileprivate var isBlob: Bool {
        switch self {
        case .blob: true
        case .text, .base64, .json, .form, .multipart, .stream: false
        }
    }
}

extension SessionSpec.Kind {
    /// Why questions of a kind cannot come up in such sessions; nil for those that can.
    func refusal(of kind: Question.Kind) -> String? {
        guard self == .background else { return nil }
        return switch kind {
        case .willPerformHTTPRedirection, .didCanonicalize:
            "redirects are followed in a background session, and nobody is asked"
        case .needNewBodyStream: "no body is a stream in a background session"
        default: nil
        }
    }
}

extension JobSpec.Kind {
    /// Whether background sessions have such jobs (BKG-4).
    fileprivate var fitsBackground: Bool {
        switch self {
        case .data: false
        case .download, .upload: true
        }
    }

    /// Whether nothing of such a job has to be written to a disk.
    fileprivate var fitsMemory: Bool {
        switch self {
        case .data, .upload: true
        case .download: false
        }
    }
}
