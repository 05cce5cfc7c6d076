import FetchEngine
import Foundation
import HTTPTypes

/// The answer to a question of a load, by the method of the delegate that is there for its kind.
struct QuestionAnswer {
    private static let standard: JSONValue = "performDefaultHandling"

    private let question: Question

    init(_ question: Question) { self.question = question }

    func answer(for task: RemoteURLSessionTask) async -> JSONValue {
        let (session, delegate) = (task.session, task.session.delegate)
        switch question.kind {
        case .willPerformHTTPRedirection, .didCanonicalize:
            guard let delegate = delegate as? any RemoteURLSessionRedirectDelegate, let proposed else { break }
            let request = await delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response("response"), newRequest: proposed)
            return answer(for: request, proposed)
        case .didReceiveChallenge, .didReceiveServerTrust:
            guard let delegate = delegate as? any RemoteURLSessionChallengeDelegate, let challenge else { break }
            return answer(for: await delegate.urlSession(session, task: task, didReceive: challenge))
        case .didReceiveResponse:
            guard let delegate = delegate as? any RemoteURLSessionResponseDelegate, let response = response("response")
            else { break }
            task.received(response)
            return answer(for: await delegate.urlSession(session, dataTask: task, didReceive: response))
        default: break
        }
        return Self.standard
    }

    private func response(_ fact: String) -> Response? {
        guard let facts = question.facts[fact] else { return nil }
        return try? decoded(facts.encoded, as: ResponseDocument.self).response()
    }

    // MARK: Redirects

    private var proposed: Request? {
        if let facts = question.facts["proposed"] {
            return try? decoded(facts.encoded, as: RequestDocument.self).request()
        }
        var request = question.request
        guard let canonical = question.facts["canonical"]?.string, let url = try? URLRecord(canonical) else {
            return nil
        }
        request.url = url
        return request
    }

    private func answer(for request: Request?, _ proposed: Request) -> JSONValue {
        guard let request else { return question.answers.contains("returnResponse") ? "returnResponse" : "cancel" }
        var change: [String: JSONValue] = [:]
        if request.url != proposed.url { change["url"] = .string(request.url.description) }
        if request.method != proposed.method { change["method"] = .string(request.method.rawValue) }
        if request.headerFields != proposed.headerFields { change["headers"] = .array(request.headerFields.documents) }
        if case .bytes(let bytes) = request.body {
            change["body"] = ["base64": .string(Data(bytes).base64EncodedString())]
        }
        return change.isEmpty ? "follow" : ["answer": "follow", "request": .object(change)]
    }

    // MARK: Challenges

    private var challenge: Challenge? {
        if question.kind == .didReceiveServerTrust { return trustChallenge }
        guard let facts = question.facts["protectionSpace"],
            let space = try? decoded(facts.encoded, as: SpaceDocument.self).space
        else { return nil }
        var challenge = Challenge(
            protectionSpace: space, previousFailureCount: Int(question.facts["previousFailureCount"]?.integer ?? 0),
            failureResponse: response("failureResponse"))
        if case .array(let methods) = question.facts["offered"] {
            challenge.offeredSpaces = methods.compactMap(\.string).map { method in
                var offered = space
                offered.method = ProtectionSpace.Method(rawValue: method)
                return offered
            }
        }
        return challenge
    }

    private var trustChallenge: Challenge? {
        guard let host = question.facts["host"]?.string, let number = question.facts["port"]?.integer,
            let port = UInt16(exactly: number), case .array(let chain) = question.facts["chain"]
        else { return nil }
        let code = LoadError.Code(question.facts["error"]?.string ?? "serverCertificateUntrusted", -1202)
        var challenge = Challenge(
            protectionSpace: ProtectionSpace(host: host, port: port, scheme: "https", method: .serverTrust))
        challenge.serverTrust = ServerTrust(
            host: host, port: port, certificates: chain.compactMap { $0["pem"]?.string }.compactMap(Self.der),
            verdict: question.facts["verdict"]?.string == "trusted"
                ? .trusted : .rejected(code, reason: question.facts["reason"]?.string ?? ""))
        return challenge
    }

    /// The bytes of a certificate in PEM.
    private static func der(_ pem: String) -> [UInt8]? {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return Data(base64Encoded: lines.joined()).map { Array($0) }
    }

    private func answer(for disposition: Challenge.Disposition) -> JSONValue {
        let isTrust = question.kind == .didReceiveServerTrust
        switch disposition {
        case .performDefaultHandling: return Self.standard
        case .rejectProtectionSpace: return isTrust ? "reject" : "rejectProtectionSpace"
        case .continueWithoutCredential: return isTrust ? "reject" : "continueWithoutCredential"
        case .cancelAuthenticationChallenge: return isTrust ? "reject" : "cancel"
        case .useCredential where isTrust: return "accept"
        case .useCredential(let credential):
            var secret: [String: JSONValue] = ["persistence": .string(credential.persistence.rawValue)]
            if let password = credential.password {
                secret["user"] = .string(credential.user)
                secret["password"] = .string(password)
            }
            // One of another kind stays here, and the service refuses the answer without it.
            secret["bearerToken"] = credential.bearerToken.map { .string($0) }
            return ["answer": "useCredential", "credential": .object(secret)]
        }
    }

    // MARK: Responses

    private func answer(for disposition: ResponseDisposition) -> JSONValue {
        switch disposition {
        case .allow: "allow"
        case .cancel: "cancel"
        case .becomeDownload: "becomeDownload"
        }
    }
}
