import FetchEngine
import FetchJobs
import HTTPTypes

/// Questions as loads ask them, with harmless values for everything that a test leaves out.
enum Questions {
    static func redirection(
        from: String = "https://a.example/x", to: String = "https://b.example/y", status: Int = 302, hop: Int = 1,
        method: HTTPRequest.Method = .get, headers: HTTPFields = [:], of asker: Question.Asker = .init()
    ) throws -> Question {
        let request = Request(url: try URLRecord(from), method: method)
        let response = Response(url: request.url, status: .init(code: status), headerFields: headers)
        let proposed = Request(url: try URLRecord(to))
        return Question(
            .redirection(.init(response: response, proposed: proposed, hop: hop, maximumHops: 20)), about: request,
            of: asker)
    }

    static func challenge(
        _ method: ProtectionSpace.Method = .httpBasic, realm: String? = "staff", isProxy: Bool = false,
        failures: Int = 0, proposing credential: Credential? = nil
    ) throws -> Question {
        let request = Request(url: try URLRecord("https://a.example/"))
        let space = ProtectionSpace(
            host: "a.example", port: 443, scheme: "https", realm: realm, method: method, isProxy: isProxy)
        let challenge = Challenge(
            protectionSpace: space, proposedCredential: credential, previousFailureCount: failures,
            failureResponse: Response(url: request.url, status: isProxy ? 407 : 401))
        return Question(.challenge(.init(challenge)), about: request)
    }

    static func response(
        status: Int = 200, type: String? = "text/html", length: Int64? = nil, filename: String? = nil
    ) throws -> Question {
        let request = Request(url: try URLRecord("https://a.example/x"))
        var headers: HTTPFields = [:]
        headers[.contentType] = type
        headers[.contentDisposition] = filename.map { "attachment; filename=\"\($0)\"" }
        let response = Response(
            url: request.url, status: .init(code: status), headerFields: headers, expectedContentLength: length)
        return Question(.response(response, part: nil), about: request)
    }

    static func serverTrust(_ verdict: ServerTrust.Verdict) throws -> Question {
        let trust = ServerTrust(host: "a.example", port: 443, certificates: [[1, 2, 3]], verdict: verdict)
        return Question(.serverTrust(trust), about: Request(url: try URLRecord("https://a.example/")))
    }
}
