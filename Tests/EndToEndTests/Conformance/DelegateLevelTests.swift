import Foundation
import HTTPTypes
import TestSupport
import Testing

/// nginx that asks for a certificate, with its authority in `anchor.pem`, and one that nobody vouches for.
private func servers() async throws -> [String: LoopbackServer] {
    let authority = try await TestAuthority()
    let asking = try await LoopbackServer.nginxTLS(
        try await authority.issue("asking"),
        directives: ["ssl_verify_client optional", "ssl_client_certificate \(authority.certificatePath)"])
    try asking.directory.write(authority.certificate, to: "anchor.pem")
    return [
        "asking": asking,
        "selfSigned": try await .nginxTLS(try await authority.issue("s", selfSigned: true)),
    ]
}

/// Who decides where a session and its job both have rules or a delegate.
@Suite(.sharedService { try await servers() })
struct DelegateLevelTests {
    /// How a server asks.
    enum Kind: String, CaseIterable, Sendable {
        case basic = #"Basic realm="r""#
        case digest = #"Digest realm="r", nonce="n""#
        case bearer = #"Bearer realm="r""#
        case ntlm = "NTLM"
        case negotiate = "Negotiate"
        case clientCertificate
        case serverTrust

        var isOfSession: Bool { [.ntlm, .negotiate, .clientCertificate, .serverTrust].contains(self) }

        var question: String { self == .serverTrust ? "didReceiveServerTrust" : "didReceiveChallenge" }

        /// A URL where it is asked for, and what a job says to get there.
        fileprivate func place(_ rig: Rig) throws -> (url: String, configuration: String) {
            switch self {
            case .clientCertificate:
                let server = try rig.server("asking")
                let anchor = server.directory.text(of: "anchor.pem").replacing("\n", with: "\\n")
                return (
                    "https://127.0.0.1:\(server.port)/",
                    #""serverTrust": {"policy": "custom", "anchors": "\#(anchor)"}"#
                )
            case .serverTrust: return ("https://127.0.0.1:\(try rig.server("selfSigned").port)/", "")
            default: return (rig.stage.play(answer("401 No", "WWW-Authenticate: \(rawValue)")).url(), "")
            }
        }
    }

    /// Those of the two that have something to say.
    enum Present: String, CaseIterable, Sendable {
        case none, session, job, both

        var hasSession: Bool { self == .session || self == .both }
        var hasJob: Bool { self == .job || self == .both }

        /// Who of them decides.
        func decider(_ kind: Kind) -> String? {
            switch self {
            case .none: nil
            case .both: kind.isOfSession ? "session" : "job"
            case .session, .job: rawValue
            }
        }
    }

    /// An endpoint that leaves each question to the configuration.
    private struct Endpoint {
        let id: String
        let play: Stage.Play

        init(_ rig: Rig) async throws {
            let reply = answer("200 OK", "Content-Type: application/json", body: "\"performDefaultHandling\"")
            play = rig.other.play(reply)
            let made = try await rig.service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(play.url())"}"#)
            id = try #require(member(made.json, "id", as: String.self), "\(made.text)")
        }

        /// The members of a configuration whose delegate it is.
        func asked(_ questions: String...) -> String {
            let list = questions.map { "\"\($0)\"" }.joined(separator: ", ")
            return #""delegate": {"via": "webhook", "endpoint": "\#(id)", "questions": [\#(list)]}"#
        }
    }

    private func session(_ rig: Rig, _ configuration: String, if isThere: Bool) async throws -> String {
        try await rig.makeSession(isThere ? #"{"configuration": {\#(configuration)}}"# : "{}")
    }

    private func members(_ all: String...) -> String { all.filter { !$0.isEmpty }.joined(separator: ", ") }

    private func questions(_ rig: Rig, of job: [String: Any]) async throws -> [[String: Any]] {
        let id = try #require(member(job, "id", as: String.self))
        let list = try await rig.service.request(.get, "/v1/jobs/\(id)/questions")
        return try #require(member(list.json, "data", as: [[String: Any]].self), "\(list.text)")
    }

    // One of two is asked, whatever it answers.
    // Proves: AUT-9, AUT-10, BEY-8.
    @Test(arguments: Kind.allCases, Present.allCases)
    func `the session's delegate is asked first about kinds of its level, and the job's alone about the others`(
        _ kind: Kind, _ present: Present
    ) async throws {
        let rig = try SharedService.current
        let (ofSession, ofJob) = (try await Endpoint(rig), try await Endpoint(rig))
        let (url, configuration) = try kind.place(rig)
        let job = try await rig.fetch(
            url, configuration: members(configuration, present.hasJob ? ofJob.asked(kind.question) : ""),
            session: try await session(rig, ofSession.asked(kind.question), if: present.hasSession))
        let expected = present.decider(kind)
        #expect(ofSession.play.requests.count == (expected == "session" ? 1 : 0), "\(job)")
        #expect(ofJob.play.requests.count == (expected == "job" ? 1 : 0), "\(job)")
        let asked = try await questions(rig, of: job)
        #expect(asked.count == (expected == nil ? 0 : 1))
        guard let question = asked.first else { return }
        #expect(member(question, "kind") == kind.question)
        #expect(member(question, "endpoint") == (expected == "session" ? ofSession.id : ofJob.id))
        guard kind != .serverTrust else { return }
        #expect(member(question, "facts", "level") == (kind.isOfSession ? "session" : "job"), "\(question)")
    }

    // Proves: AUT-9, AUT-10.
    @Test(arguments: Kind.allCases, Present.allCases)
    func `the session's rules go before the job's for kinds of its level, and after them for the others`(
        _ kind: Kind, _ present: Present
    ) async throws {
        let rig = try SharedService.current
        let (url, configuration) = try kind.place(rig)
        let rules = #""rules": [{"on": "\#(kind.question)", "answer": "performDefaultHandling"}]"#
        let job = try await rig.fetch(
            url, configuration: members(configuration, present.hasJob ? rules : ""),
            session: try await session(rig, rules, if: present.hasSession))
        let decisions = try await rig.decisions(of: job)
        #expect(decisions.count == (present == .none ? 0 : 1), "\(decisions)")
        let from = decisions.first.flatMap { member($0, "by", "from", as: String.self) }
        #expect(from == present.decider(kind), "\(decisions)")
    }

    // The session's has questions that the job's has not, and is not asked them.
    // Proves: BEY-8.
    @Test(arguments: [true, false])
    func `a job's own delegate is there in the place of its session's`(_ hasOwn: Bool) async throws {
        let rig = try SharedService.current
        let (ofSession, ofJob) = (try await Endpoint(rig), try await Endpoint(rig))
        let play = rig.stage.play(answer("302 Found", "Location: next"), answer())
        let session = try await session(
            rig, ofSession.asked("willPerformHTTPRedirection", "didReceiveResponse"), if: true)
        let job = try await rig.fetch(
            play.url(), configuration: hasOwn ? ofJob.asked("didReceiveResponse") : "", session: session)
        #expect(status(of: job) == 200, "\(job)")
        #expect(ofSession.play.requests.count == (hasOwn ? 0 : 2))
        #expect(ofJob.play.requests.count == (hasOwn ? 1 : 0))
    }

    // Conditions say which, and stored credentials answer the others.
    // Proves: AUT-12.
    @Test func `a delegate is not asked about kinds that it does not want, which stored credentials answer`()
        async throws
    {
        let rig = try SharedService.current
        let endpoint = try await Endpoint(rig)
        let unwanted =
            #""delegate": {"via": "webhook", "endpoint": "\#(endpoint.id)", "questions": [{"on": "#
            + #""didReceiveChallenge", "when": {"authenticationMethod": ["httpDigest", "ntlm"]}}]}"#
        let session = try await rig.makeSession()
        let play = rig.stage.serve { _, connection in
            try connection.send(answer("401 No", "WWW-Authenticate: Basic realm=\"wanted\""))
        }
        let without = try await rig.fetch(play.url(), configuration: unwanted, session: session)
        #expect(status(of: without) == 401 && play.requests.count == 1)
        let stored = try await rig.service.request(
            .post, "/v1/credentials",
            body: #"{"session": "\#(session)", "persistence": "forSession", "user": "u", "password": "p", "#
                + #""protectionSpace": {"host": "127.0.0.1", "port": \#(rig.stage.port), "protocol": "http", "#
                + #""realm": "wanted", "authenticationMethod": "httpBasic"}}"#)
        #expect(stored.status == 201, "\(stored.text)")
        let job = try await rig.fetch(play.url(), configuration: unwanted, session: session)
        #expect(status(of: job) == 401 && play.requests.count == 3)
        #expect(play.requests.map { $0.values("authorization") } == [[], [], ["Basic dTpw"]])
        #expect(endpoint.play.requests.isEmpty)
    }

    // What is asked about by default is what a client can be expected to know.
    // Proves: AUT-12.
    @Test(arguments: Kind.allCases)
    func `without methods certificates are left to what is stored and verified, and the other kinds are answered`(
        _ kind: Kind
    ) async throws {
        let rig = try SharedService.current
        let (url, configuration) = try kind.place(rig)
        let credential =
            kind == .bearer ? #"{"bearerToken": "t"}"# : #"{"user": "u@CAVE.TEST", "password": "p"}"#
        let own = #""authentication": {"credential": \#(credential)}"#
        let job = try await rig.fetch(url, configuration: members(configuration, own))
        switch kind {
        case .serverTrust: #expect(errorName(of: job) == "serverCertificateHasUnknownRoot", "\(job)")
        case .clientCertificate: #expect(try await rig.text(of: job).hasPrefix("NONE "))
        case .negotiate: #expect(status(of: job) == 401)
        default: #expect(member(job, "challenges", "0", "answer") == "useCredential", "\(job)")
        }
        #expect(try await questions(rig, of: job).isEmpty)
    }
}
