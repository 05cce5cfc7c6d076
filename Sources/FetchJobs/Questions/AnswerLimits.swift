package import FetchEngine

/// The limits of the answers to one question: an answer that breaks one is refused, and the question stays open.
///
/// They are written down with the question, so that every node judges an answer alike.
package struct AnswerLimits: Sendable, Equatable {
    /// The limits of a request that an answer changes (RED-4).
    package struct Following: Sendable, Equatable {
        /// The scheme of the URL that is left.
        package var scheme: String
        package var allowHTTPSToHTTP: Bool
        /// Nil for any that may be reached.
        package var allowedHosts: Set<String>?

        package init(scheme: String, allowHTTPSToHTTP: Bool, allowedHosts: Set<String>? = nil) {
            self.scheme = scheme
            self.allowHTTPSToHTTP = allowHTTPSToHTTP
            self.allowedHosts = allowedHosts
        }
    }

    /// The words that are possible, in the order in which they are shown.
    package var words: [Answer.Word]
    /// Of redirects and changes of a URL's form.
    package var following: Following?
    /// The protection space, of challenges.
    package var space: ProtectionSpace?
    /// The proposed policy, of responses that may be stored.
    package var storagePolicy: CachedResponse.StoragePolicy?
    /// The questions for which an answer is remembered that does not say for which; nil for none.
    package var alike: Question.Conditions?
    /// Whether the session of the job is ephemeral: an answer cannot say what would be written.
    package var isEphemeral = false

    package init(words: [Answer.Word]) { self.words = words }

    /// The limits of a question.
    ///
    /// - Parameters:
    ///   - redirects: The limits on redirects of the job.
    ///   - excluded: Words that are not possible here, such as `becomeDownload` of a download.
    package init(
        of question: Question, _ redirects: Configuration.Redirects, without excluded: Set<Answer.Word> = []
    ) {
        words = question.kind.words.filter { !excluded.contains($0) }
        switch question.subject {
        case .redirection, .canonicalization, .delayedRequest:
            following = Following(
                scheme: question.request.url.scheme, allowHTTPSToHTTP: redirects.allowHTTPSToHTTP ?? false,
                allowedHosts: redirects.allowedHosts.map { Set($0) })
        case .challenge(let challenge): space = challenge.space
        case .caching(let facts): storagePolicy = facts.storagePolicy
        case .serverTrust, .response, .decoding, .destination, .body: break
        }
    }

    /// Whether a user and a password may answer.
    package var takesLogin: Bool { words.contains(.useCredential) && space?.method != .clientCertificate }

    /// The members of an answer that break these limits, by JSON Pointers from the answer.
    ///
    /// Callers check whether a host may be reached, and whether a stored credential exists.
    package func violations(of answer: Answer) -> [Violation] {
        guard words.contains(answer.word) else {
            let possible = words.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            return [Violation(pointer: "/answer", message: "is not possible here; possible are \(possible)")]
        }
        let blobs = isEphemeral ? answer.blobs : []
        guard blobs.isEmpty else {
            let message = "cannot be had in an ephemeral session: that a job sends a blob is stored"
            return blobs.map { Violation(pointer: $0.pointer, message: message) }
        }
        return switch answer {
        case .follow(let change?), .useRequest(let change): violations(of: change)
        case .useCredential(.inline(let credential)): violation(of: credential).map { [$0] } ?? []
        case .store(let storing): violation(of: storing).map { [$0] } ?? []
        default: []
        }
    }

    private func violations(of change: RequestChange) -> [Violation] {
        guard let url = change.url, let following else { return [] }
        var violations: [Violation] = []
        if following.scheme == "https", url.scheme == "http", !following.allowHTTPSToHTTP {
            violations.append(
                Violation(pointer: "/request/url", message: "leads from https to http, which is not allowed here"))
        }
        if let hosts = following.allowedHosts, !hosts.contains(url.host ?? "") {
            violations.append(
                Violation(
                    pointer: "/request/url", message: "leads to a host that redirects.allowedHosts does not name"))
        }
        return violations
    }

    private func violation(of credential: Credential) -> Violation? {
        guard let space else { return nil }
        let isCertificate = credential.kind == .clientCertificate
        guard isCertificate != (space.method == .clientCertificate) else { return nil }
        return Violation(
            pointer: "/credential",
            message: isCertificate
                ? "is a client certificate, and a login is asked for" : "is no client certificate, which is asked for")
    }

    private func violation(of storing: Answer.Storing) -> Violation? {
        guard let wanted = storing.storagePolicy, let proposed = storagePolicy, wanted.isLaxer(than: proposed) else {
            return nil
        }
        return Violation(
            pointer: "/storagePolicy", message: "must not be laxer than the proposed one, \"\(proposed.rawValue)\"")
    }
}

// MARK: JSON

extension AnswerLimits {
    package var json: RawJSON {
        RawJSON(
            JSONWriter.object { writer in
                writer.member("answers", array: { writer in words.forEach { writer.value($0.rawValue) } })
                if let following {
                    writer.member(
                        "following",
                        object: { writer in
                            writer.member("scheme", following.scheme)
                            writer.member("allowHTTPSToHTTP", following.allowHTTPSToHTTP)
                            guard let hosts = following.allowedHosts else { return }
                            writer.member(
                                "allowedHosts",
                                array: { writer in hosts.sorted().forEach { writer.value($0) } })
                        })
                }
                writer.member("space", space?.json)
                writer.member("storagePolicy", storagePolicy?.rawValue)
                if let alike { writer.member("alike", object: alike.write) }
                if isEphemeral { writer.member("isEphemeral", true) }
            })
    }

    /// Reads what ``json`` has written of a question of a kind.
    package init(stored json: RawJSON, of kind: Question.Kind) throws {
        let check = InputCheck()
        let reader = JSONReader(try JSONParser.parse(json.bytes), check: check)
        let object = reader.object(of: ["answers", "following", "space", "storagePolicy", "alike", "isEphemeral"])
        words = object?.required("answers")?.array(maximum: 64)?.compactMap { $0.oneOf(Answer.Word.self) } ?? []
        following = object?["following"].flatMap { reader in
            guard let object = reader.object(of: ["scheme", "allowHTTPSToHTTP", "allowedHosts"]) else { return nil }
            let hosts = object["allowedHosts"]?.array(maximum: .max)?.compactMap { $0.string() }
            return Following(
                scheme: object.required("scheme")?.string() ?? "",
                allowHTTPSToHTTP: object["allowHTTPSToHTTP"]?.bool() ?? false, allowedHosts: hosts.map { Set($0) })
        }
        space = object?["space"].flatMap { ProtectionSpace(ofChallenge: $0) }
        storagePolicy = object?["storagePolicy"]?.oneOf(CachedResponse.StoragePolicy.self)
        alike = object?["alike"].map { Question.Conditions(reader: $0, for: kind) }
        isEphemeral = object?["isEphemeral"]?.bool() ?? false
        try check.finish()
    }
}

extension ProtectionSpace {
    /// Reads the space of a challenge, with any method.
    fileprivate init?(ofChallenge reader: JSONReader) {
        let names: Set = ["host", "port", "protocol", "realm", "authenticationMethod", "isProxy"]
        guard let object = reader.object(of: names), let host = object.required("host")?.string(),
            let port = object.required("port")?.integer(in: 0...65_535),
            let scheme = object.required("protocol")?.string(),
            let method = object.required("authenticationMethod")?.oneOf(Method.self)
        else { return nil }
        self.init(
            host: host, port: UInt16(port), scheme: scheme, realm: object["realm"]?.string(), method: method,
            isProxy: object["isProxy"]?.bool() ?? false)
    }
}
