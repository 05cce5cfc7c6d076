package import FetchEngine
import HTTPTypes

/// Something that a load might come to, as a client imagines it.
package struct WhatIf: Sendable {
    package let subject: Question.Subject
    /// The request that it would be about.
    package let request: Request

    /// So many one request asks about at most.
    package static let maximum = 32
}

extension WhatIf {
    /// Reads an event of a request.
    ///
    /// Errors are reported to the check of the reader.
    ///
    /// - Parameter configuration: The configuration of the request.
    package init?(reader: JSONReader, about request: Request, in configuration: SessionConfiguration) {
        guard case .object(let members) = reader.value else {
            reader.refuse("must be an object with the member \"on\", not \(reader.value.kind)")
            return nil
        }
        // The other members depend on the kind.
        let named = JSONObjectReader(members: members, reader: reader).required("on")
        guard let kind = named?.oneOf(Question.Kind.self),
            let object = reader.object(of: kind.membersOfWhatIf.union(["on"])),
            let subject = Self.subject(kind, object, request, configuration)
        else { return nil }
        self.subject = subject
        self.request = request
    }

    private static func subject(
        _ kind: Question.Kind, _ object: JSONObjectReader, _ request: Request, _ configuration: SessionConfiguration
    ) -> Question.Subject? {
        switch kind {
        case .willPerformHTTPRedirection:
            guard let url = object.required("to").flatMap({ $0.httpURL() }) else { return nil }
            let hop = object["hop"]?.integer(in: 1...100) ?? 1
            return .redirection(
                .init(
                    response: response(object, to: request, 302),
                    proposed: configuration.proposal(for: request, to: url, status: status(object, 302)),
                    hop: Int(hop), maximumHops: configuration.redirects.maximum))
        case .didCanonicalize:
            guard let url = object.required("to").flatMap({ $0.httpURL() }) else { return nil }
            var proposed = request
            proposed.url = url
            let isStrict = request.url.scheme == "http" && url.scheme == "https"
            return .canonicalization(
                .init(original: request.url, proposed: proposed, reason: isStrict ? .strictTransport : .canonical))
        case .didReceiveChallenge: return challenge(object, to: request).map { .challenge($0) }
        case .didReceiveServerTrust:
            guard let error = object.required("error")?.oneOf(Question.TrustError.self) else { return nil }
            return .serverTrust(
                ServerTrust(
                    host: request.url.host ?? "", port: request.url.effectivePort ?? 443, certificates: [],
                    verdict: error.verdict))
        case .didReceiveResponse: return .response(response(object, to: request, 200), part: nil)
        case .shouldDecodeSourceData:
            return object.required("mimeType")?.string(maximumLength: 127).map { .decoding(mimeType: $0) }
        case .decideDestination:
            return object.required("suggestedFilename")?.string(maximumLength: 200).map {
                .destination(
                    suggestedFilename: $0,
                    expectedContentLength: object["contentLength"]?.integer(in: 0...(1 << 50)))
            }
        case .needNewBodyStream:
            return .body(object["reason"]?.oneOf(Question.BodyReason.self) ?? .first, offset: 0)
        case .willCacheResponse:
            let bytes = object["contentLength"]?.integer(in: 0...(1 << 50)) ?? 0
            return .caching(
                .init(response: response(object, to: request, 200), bodyBytes: bytes, storagePolicy: .allowed))
        case .willBeginDelayedRequest: return .delayedRequest
        }
    }

    private static func status(_ object: JSONObjectReader, _ standard: Int64) -> HTTPResponse.Status {
        .init(code: Int(object["status"]?.integer(in: 100...599) ?? standard))
    }

    private static func response(_ object: JSONObjectReader, to request: Request, _ standard: Int64) -> Response {
        Response(
            url: request.url, status: status(object, standard),
            headerFields: object["headers"].map { JobRequest.headers($0) } ?? [:],
            expectedContentLength: object["contentLength"]?.integer(in: 0...(1 << 50)))
    }

    private static func challenge(_ object: JSONObjectReader, to request: Request) -> Question.ChallengeFacts? {
        guard let method = object.required("authenticationMethod")?.oneOf(ProtectionSpace.Method.self) else {
            return nil
        }
        let isProxy = object["isProxy"]?.bool() ?? false
        let space = ProtectionSpace(
            host: request.url.host ?? "", port: request.url.effectivePort ?? 0, scheme: request.url.scheme,
            realm: object["realm"]?.string(maximumLength: 1024), method: method, isProxy: isProxy)
        let count = object["previousFailureCount"]?.integer(in: 0...100) ?? 0
        let response = response(object, to: request, isProxy ? 407 : 401)
        return Question.ChallengeFacts(
            Challenge(
                protectionSpace: space, previousFailureCount: Int(count),
                failureResponse: method == .clientCertificate ? nil : response))
    }
}

extension Question.Kind {
    /// The members that an imagined event of the kind may have.
    fileprivate var membersOfWhatIf: Set<String> {
        switch self {
        case .willPerformHTTPRedirection: ["to", "status", "hop", "headers"]
        case .didCanonicalize: ["to"]
        case .didReceiveChallenge:
            ["authenticationMethod", "realm", "isProxy", "previousFailureCount", "status", "headers"]
        case .didReceiveServerTrust: ["error"]
        case .didReceiveResponse, .willCacheResponse: ["status", "headers", "contentLength"]
        case .shouldDecodeSourceData: ["mimeType"]
        case .decideDestination: ["suggestedFilename", "contentLength"]
        case .needNewBodyStream: ["reason"]
        case .willBeginDelayedRequest: []
        }
    }
}

extension WhatIf {
    /// Writes who would decide, and how, as far as that is known beforehand.
    ///
    /// - Parameters:
    ///   - rules: Those of the job, its session and the service.
    ///   - remembered: The answers that its session remembers.
    ///   - delegates: The delegates of the job and its session.
    ///   - configuration: The configuration of the request.
    ///   - urls: The parts of URLs that are shown.
    package func write(
        _ writer: inout JSONWriter, _ rules: RuleBook, _ remembered: [RememberedAnswer],
        _ delegates: (job: Configuration.Delegate, session: Configuration.Delegate),
        _ configuration: SessionConfiguration, of asker: Question.Asker, _ urls: URLForm
    ) {
        let question = Question(subject, about: request, of: asker)
        writer.member("on", question.kind.rawValue)
        writer.member("facts", object: { question.writeSummary(&$0, urls) })
        if let limit = limit(of: configuration) {
            // An event that breaks a limit is never a question.
            writer.member("by", object: { $0.member("who", "configuration") })
            writer.member("limit", limit.message)
            writer.member("error", limit.code.name)
            return
        }
        if let match = rules.match(question) {
            writer.member(
                "by", object: Decision.Decider.rule(name: match.rule.name, match.level, index: match.index).write)
            writer.name("answer")
            match.rule.answer.write(&writer, .redacted)
        } else if let answer = remembered.match(question) {
            writer.member("by", object: Decision.Decider.remembered(answer.question).write)
            writer.name("answer")
            answer.rule.answer.write(&writer, .redacted)
        } else if let delegate = Configuration.Delegate.responsible(
            for: question, job: delegates.job, session: delegates.session)
        {
            writer.member(
                "by",
                object: { writer in
                    writer.member("who", "delegate")
                    writer.member("via", delegate.via?.rawValue)
                    writer.member("endpoint", delegate.endpoint?.description)
                })
            writer.name("otherwise")
            (delegate.otherwise?[question.kind] ?? .performDefaultHandling).write(&writer, .redacted)
        } else {
            writer.member("by", object: { $0.member("who", "configuration") })
            writer.member("answer", Answer.Word.performDefaultHandling.rawValue)
        }
    }

    /// The limit, of those that no answer can lift, that the event breaks; nil for none.
    private func limit(of configuration: SessionConfiguration) -> LoadError? {
        guard case .redirection(let redirection) = subject else { return nil }
        if redirection.hop > configuration.redirects.maximum {
            return LoadError(
                .httpTooManyRedirects, "More than \(configuration.redirects.maximum) redirects are not followed.")
        }
        return configuration.refusal(of: redirection.proposed, inPlaceOfRedirectFrom: request.url)
    }
}
