import FetchEngine
import FetchJobs
import HTTPTypes

/// One question on its way to its endpoint, and the verdict on the endpoint's reply.
struct QuestionMessage: Sendable {
    /// The meaning of a reply.
    enum Verdict: Sendable {
        case reply(Reply)
        /// The answer comes by the API.
        case later
        /// To be asked again, after so long at least, with the fault of the reply.
        case again(after: Duration?, fault: String)
        /// Not to be asked again: the answer may come by the API.
        case refused(fault: String)

        /// Whether the endpoint can be reached; its reply does not matter.
        var hasAnswered: Bool { if case .again = self { false } else { true } }
    }

    let question: StoredQuestion
    let endpoint: WebhookEndpoint
    /// The trace of the job that asks; nil for none.
    var trace: TraceContext?

    /// How long an endpoint has to reply.
    static let timeout = Duration.seconds(10)

    /// Sends the question, signed; its id is the message's, the same each time it is sent.
    ///
    /// - Parameters:
    ///   - url: That of the endpoint.
    ///   - session: Loads messages alone.
    ///   - reach: Where they may be sent; nil for where the session lets them.
    ///   - connections: How many there may be to one endpoint.
    ///   - now: The time that it is signed with.
    func send(
        to url: URLRecord, in session: Session, reach: MessageReach?, connections: Int, at now: Timestamp
    ) async -> Verdict {
        let body = JSONWriter.object { writer in
            writer.member("type", WebhookEvent.jobQuestion.rawValue)
            writer.member("timestamp", question.askedAt.description)
            writer.member("data", object: question.write)
        }
        var request = Request(url: url, method: .post, body: .bytes(body))
        request.headerFields = WebhookMessage(id: question.id.description, body: body)
            .headers(signedWith: endpoint.secrets(at: now), at: now.seconds, in: trace)
        var configuration = session.configuration
        configuration.owner = endpoint.tenant.description
        reach?.narrow(&configuration, for: endpoint.tenant)
        endpoint.serverTrust.apply(to: &configuration)
        configuration.tls.clientIdentity = endpoint.clientIdentity
        configuration.redirects.policy = .return
        configuration.timeoutIntervalForResource = Self.timeout
        configuration.httpMaximumConnectionsPerHost = connections
        do throws(LoadError) {
            let task = session.dataTask(with: request, configuration: configuration)
            let response = try await task.response(bufferingUpTo: Reply.maximumBytes)
            guard let bytes = task.completeBody else {
                task.cancel()
                guard response.status.code == 200 else { return await verdict(on: response, []) }
                return .refused(fault: "The reply has more than \(Reply.maximumBytes) bytes.")
            }
            return await verdict(on: response, bytes)
        } catch {
            reach?.note(error, of: endpoint.tenant)
            return .again(after: nil, fault: "The endpoint cannot be asked: \(error.code.name).")
        }
    }

    /// The meaning of a reply.
    ///
    /// No text of the reply is repeated in a fault: the reply may hold a secret.
    private func verdict(on response: Response, _ body: [UInt8]) async -> Verdict {
        switch response.status.code {
        case 200:
            guard !body.isEmpty else { return .later }
            return await verdict(on: body)
        case 202, 204: return .later
        case 201, 203, 205...299:
            return body.isEmpty ? .later : .refused(fault: "The reply has the status \(response.status.code), not 200.")
        case 408, 425, 429, 500...599:
            let wait = response.retryAfter()
            return .again(after: wait, fault: "The reply has the status \(response.status.code).")
        default: return .refused(fault: "The reply has the status \(response.status.code).")
        }
    }

    private func verdict(on body: [UInt8]) async -> Verdict {
        do {
            let json = try JSONParser.parse(body)
            let asked = question.asked
            return .reply(
                try await KeyReading.shared.read(json, of: asked.tenant) { json throws(InvalidInput) in
                    try Reply(json: json, to: asked)
                })
        } catch is KeyReading.Busy {
            return .again(after: nil, fault: "Too many encrypted keys of the tenant wait to be read.")
        } catch let error as JSONParser.Failure {
            return .refused(fault: "The reply is not JSON: \(error.message), at byte \(error.offset).")
        } catch let error as InvalidInput {
            return .refused(fault: "The reply is no answer: \(error.violations.summary).")
        } catch {
            return .refused(fault: "The reply cannot be read.")
        }
    }
}

extension [Violation] {
    private static let members: Set = [
        "", "answer", "request", "credential", "filename", "overwrite", "body", "userInfo", "storagePolicy", "note",
        "remember",
    ]

    /// Which rules are broken where, with no name or value of the reply's own.
    var summary: String {
        map { violation in
            let parts = violation.pointer.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let first = parts.count < 2 ? "" : String(parts[1].prefix { $0 != "/" })
            guard Self.members.contains(first) else { return "a member is not known here" }
            return "\(first.isEmpty ? "it" : "/\(first)") \(violation.message)"
        }
        .joined(separator: "; ")
    }
}
