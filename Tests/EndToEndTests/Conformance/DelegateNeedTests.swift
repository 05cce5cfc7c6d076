import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What programs have needed delegates of their own for: each by the configuration, and by a question.
@Suite(
    .timeLimit(.minutes(2)), .enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")),
    .sharedService { ["apache": try await .apache()] })
struct DelegateNeedTests {
    /// What decides: the defaults, the configuration, or an answer.
    enum Means: String, CaseIterable { case nothing, policy, question }

    /// A load, the configuration that it needs, and what is asked and answered in place of that.
    private struct Load {
        let url: String
        var request = ""
        let policy: String
        let kind: String
        let answer: String
    }

    /// The job of a load at its end.
    private func job(
        of load: Load, by means: Means, in session: String? = nil, _ service: ServiceProcess
    ) async throws -> [String: Any] {
        let configuration =
            switch means {
            case .nothing: ""
            case .policy: load.policy
            case .question: #""delegate": {"via": "api", "questions": ["\#(load.kind)"], "timeout": 60}"#
            }
        let session = session.map { #""session": "\#($0)", "# } ?? ""
        let asked = try await service.request(
            .post, "/v1/jobs",
            body: #"{\#(session)"request": {"url": "\#(load.url)"\#(load.request)}, "#
                + #""configuration": {\#(configuration)}}"#)
        let id = try #require(member(asked.json, "id", as: String.self), "\(asked.text)")
        if means == .question {
            let question = try await service.question(of: id)
            #expect(member(question, "kind") == load.kind)
            let answer = try await service.answer(question, load.answer)
            #expect(answer.status == 200, "\(answer.text)")
        }
        return try await service.end(of: id)
    }

    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `authentication of one's own`(_ means: Means) async throws {
        let rig = try SharedService.current
        let login = #"{"user": "\#(Cave.user)", "password": "\#(Cave.password)"}"#
        let load = Load(
            url: try rig.server("apache").url("/basic/page"),
            policy: #""authentication": {"credential": \#(login)}"#, kind: "didReceiveChallenge",
            answer: #"{"answer": "useCredential", "credential": \#(login)}"#)
        let job = try await job(of: load, by: means, rig.service)
        #expect(status(of: job) == (means == .nothing ? 401 : 200), "\(job)")
    }

    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `certificate checks of one's own`(_ means: Means) async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        let rule = "127.0.0.1:\(server.port)"
        try await ServiceProcess.with(allowing: [rule]) { service in
            let load = Load(
                url: "https://\(rule)/", policy: #""serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}"#,
                kind: "didReceiveServerTrust", answer: #""accept""#)
            let job = try await job(of: load, by: means, service)
            #expect(status(of: job) == (means == .nothing ? nil : 200), "\(job)")
            #expect(errorName(of: job) == (means == .nothing ? "serverCertificateHasUnknownRoot" : nil))
        }
    }

    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `the choice between data and download`(_ means: Means) async throws {
        let rig = try SharedService.current
        let load = Load(
            url: rig.stage.play(answer("200 OK", "Content-Type: video/mp4", body: "film")).url(),
            policy: #""response": {"becomeDownload": {"mimeTypes": ["video/*"]}}"#, kind: "didReceiveResponse",
            answer: #""becomeDownload""#)
        let job = try await job(of: load, by: means, rig.service)
        #expect(member(job, "kind") == (means == .nothing ? "data" : "download"), "\(job)")
        #expect(try await rig.text(of: job) == "film")
    }

    // Where nothing decides, the client is asked to send it.
    // Proves: LIF-1.
    @Test(arguments: [Means.policy, .question]) func `a body that is a stream`(_ means: Means) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let body = #"{"answer": "useBody", "body": {"text": "mine"}}"#
        let load = Load(
            url: play.url(), request: #", "method": "PUT", "body": {"stream": true}"#,
            policy: #""rules": [{"on": "needNewBodyStream", "answer": \#(body)}]"#, kind: "needNewBodyStream",
            answer: body)
        #expect(status(of: try await job(of: load, by: means, rig.service)) == 200)
        #expect(play.requests.map(\.body) == [Array("mine".utf8)])
    }

    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `limits of what is cached`(_ means: Means) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=60", body: "x"))
        let load = Load(
            url: play.url(), policy: #""cache": {"storagePolicy": "notAllowed"}"#, kind: "willCacheResponse",
            answer: #""doNotStore""#)
        let session = try await rig.makeSession()
        for means in [means, .nothing] {
            #expect(status(of: try await job(of: load, by: means, in: session, rig.service)) == 200)
        }
        #expect(play.requests.count == (means == .nothing ? 1 : 2))
    }

    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `limits of redirects`(_ means: Means) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("302 There", "Location: next"), answer())
        let load = Load(
            url: play.url(), policy: #""redirects": {"policy": "return"}"#, kind: "willPerformHTTPRedirection",
            answer: #""returnResponse""#)
        #expect(status(of: try await job(of: load, by: means, rig.service)) == (means == .nothing ? 200 : 302))
        #expect(play.requests.count == (means == .nothing ? 2 : 1))
    }

    // Somebody has to hear of it: a webhook that its configuration names, or who answers.
    // Proves: LIF-1.
    @Test(arguments: Means.allCases) func `background sessions`(_ means: Means) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play("HTTP/1.1 204 No Content\r\n\r\n")
        let more =
            switch means {
            case .nothing: ""
            case .policy: #", "webhook": {"url": "\#(play.url("hook"))"}"#
            case .question:
                #", "configuration": {"delegate": {"via": "api", "questions": ["decideDestination"], "timeout": 60}}"#
            }
        let made = try await rig.service.request(
            .post, "/v1/sessions", body: #"{"kind": "background", "identifier": "\#(UUID())"\#(more)}"#)
        guard means != .nothing else {
            #expect(made.status == 422 && made.text.contains("/webhook"), "\(made.text)")
            return
        }
        let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
        let file = rig.other.play(answer(body: "x"))
        let id = try await rig.submit(
            #"{"session": "\#(session)", "kind": "download", "request": "\#(file.url("f"))"}"#)
        if means == .question {
            let answer = try await rig.service.answer(
                try await rig.service.question(of: id), #"{"answer": "use", "filename": "mine"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        let job = try await rig.service.end(of: id)
        #expect(member(job, "state") == "succeeded", "\(job)")
        if means == .question { #expect(member(job, "file", "filename") == "mine") }
        if means == .policy { try await until { play.requests.contains { $0.line.hasPrefix("POST ") } } }
    }
}
