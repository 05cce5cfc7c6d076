import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The secrets of the service: neither the database and its files nor the service's directory and log have them.
@Suite(.sharedService()) struct SecrecyTests {
    /// Texts that are nowhere else.
    private struct Marked {
        let user = "user-\(UUID().uuidString)"
        let password = "word-\(UUID().uuidString)"
        let trace = "trace-\(UUID().uuidString)"

        /// The credential as a server gets it (RFC 7617).
        var basic: String { Data("\(user):\(password)".utf8).base64EncodedString() }
        /// All texts that must not be found; base64 depends on the bytes before it.
        var secrets: [String] { [user, password, basic, String(basic.dropFirst(4).prefix(24))] }
    }

    /// Lets in who shows a credential for a realm of its own.
    private func guarded(_ stage: Stage, realm: String = UUID().uuidString) -> Stage.Play {
        let asking = answer("401 Who", "WWW-Authenticate: Basic realm=\"\(realm)\"")
        return stage.serve { _, connection in
            let head = String(decoding: connection.received, as: UTF8.self).components(separatedBy: "\r\n\r\n")
            // The newest request is the last that has ended.
            let isShown = head.dropLast().last?.contains("\r\nAuthorization: ") == true
            try connection.send(isShown ? answer("200 OK", body: "in") : asking)
        }
    }

    private func expectNothing(of marked: Marked, _ place: ServiceProcess.Place, _ service: ServiceProcess) async throws
    {
        #expect(try await place.holds(marked.trace), "what is not secret is found, so the rest would be")
        for secret in marked.secrets {
            #expect(try await !place.holds(secret))
            #expect(!service.logged.contains(secret))
        }
    }

    // While the job waits, and when it is over.
    // Proves: URL-10, SEC-32.
    @Test func `the user name and password of a URL lie sealed, and no view shows them`() async throws {
        let (rig, marked) = (try SharedService.current, Marked())
        let play = guarded(rig.stage)
        let url = play.url(marked.trace).replacing("//", with: "//\(marked.user):\(marked.password)@")
        let id = try await rig.submit(#"{"suspended": true, "request": "\#(url)"}"#)
        try await expectNothing(of: marked, rig.place, rig.service)
        async let events = rig.service.request(.get, "/v1/jobs/\(id)/events").text
        try await until {
            try await rig.service.request(.get, "/metrics").text.contains("\nfetchd_event_streams 1\n")
        }
        _ = try await rig.service.request(.post, "/v1/jobs/\(id)/resume")
        let job = try await rig.service.job(id) { member($0, "state") == "succeeded" }
        #expect(status(of: job) == 200 && play.requests.last?.values("authorization") == ["Basic \(marked.basic)"])
        let shown = [
            "\(job)", try await events, try await rig.service.request(.get, "/v1/jobs?limit=100").text,
            try await rig.service.request(.get, "/v1/credentials").text,
        ].joined()
        #expect(shown.contains(marked.trace))
        for secret in marked.secrets { #expect(!shown.contains(secret)) }
        for request in play.requests {
            #expect(!request.line.contains(marked.user) && request.values("referer") == [])
        }
        try await expectNothing(of: marked, rig.place, rig.service)
    }

    // Each is accepted, and only the one to keep is there afterwards, sealed.
    // Proves: CRD-2, SEC-50.
    @Test func `a credential for one request never reaches the database, others lie sealed`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        // The jobs of a session use its own and those for all.
        for (persistence, own, tenant) in [("none", 0, 0), ("forSession", 1, 0), ("permanent", 1, 1)] {
            let (marked, play) = (Marked(), guarded(rig.stage))
            let job = try await rig.fetch(
                play.url(marked.trace),
                configuration: #""authentication": {"credential": {"user": "\#(marked.user)", "#
                    + #""password": "\#(marked.password)", "persistence": "\#(persistence)"}}"#,
                session: persistence == "none" ? nil : session)
            #expect(status(of: job) == 200, "\(job)")
            func count(_ query: String) async throws -> Int {
                let list = try await rig.service.request(.get, "/v1/credentials\(query)")
                return list.text.components(separatedBy: marked.user).count - 1
            }
            #expect(try await count("?session=\(session)") == own)
            #expect(try await count("") == tenant)
            #expect(try await rig.place.holds(marked.trace))
            #expect(try await rig.place.holds(marked.user) == (persistence != "none"), "\(persistence)")
            for secret in marked.secrets.dropFirst() { #expect(try await !rig.place.holds(secret)) }
        }
    }

    // Credentials of the job, of its URL, and of the session in memory.
    // Proves: SES-3, CRD-7.
    @Test func `credentials of an ephemeral session work, and leave no trace`() async throws {
        let (rig, marked) = (try SharedService.current, Marked())
        let (play, other) = (guarded(rig.stage), guarded(rig.stage))
        let session = try await rig.makeSession(#"{"kind": "ephemeral"}"#)
        let keep =
            #""authentication": {"credential": {"user": "\#(marked.user)", "password": "\#(marked.password)", "#
            + #""persistence": "forSession"}}"#
        let first = try await rig.fetch(play.url(), configuration: keep, session: session)
        #expect(status(of: first) == 200, "\(first)")
        let second = try await rig.fetch(play.url("again"), session: session)
        #expect(status(of: second) == 200 && play.requests.count == 3, "it is in memory: \(second)")
        let named = try await rig.fetch(
            other.url().replacing("//", with: "//\(marked.user):\(marked.password)@"), session: session)
        #expect(status(of: named) == 200)
        _ = try await rig.fetch(play.url(marked.trace))
        try await expectNothing(of: marked, rig.place, rig.service)
        _ = try await rig.service.request(.post, "/v1/sessions/\(session)/invalidate")
        try await expectNothing(of: marked, rig.place, rig.service)
    }

    // All sessions of the tenant, and no other tenant.
    // Proves: CRD-6, SEC-42.
    @Test func `tenants share no credential`() async throws {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "credentials-other")
        let origin = guarded(rig.other, realm: "cave")
        let space = #""protectionSpace": {"host": "127.0.0.1", "port": \#(rig.other.port), "protocol": "http", "#
        let stored = try await rig.service.request(
            .post, "/v1/credentials",
            body: "{\(space)"
                + #""realm": "cave", "authenticationMethod": "httpBasic"}, "user": "u", "password": "pw"}"#)
        #expect(stored.status == 201, "\(stored.text)")
        let id = try #require(member(stored.json, "id", as: String.self))
        #expect(status(of: try await rig.fetch(origin.url("a"))) == 200)
        #expect(status(of: try await rig.fetch(origin.url("b"))) == 200, "another session of the tenant")
        #expect(status(of: try await rig.service.fetch(origin.url("c"), key: key)) == 401)
        let other = rig.service.speaking(with: key)
        let list = try await other.request(.get, "/v1/credentials").json
        #expect(member(list, "data", as: [Any].self)?.isEmpty == true)
        #expect(try await other.request(.get, "/v1/credentials/\(id)").status == 404)
        let naming =
            #"{"request": "\#(origin.url("d"))", "configuration": {"authentication": {"credential": "\#(id)"}}}"#
        #expect(try await other.request(.post, "/v1/jobs", body: naming).status == 422)
    }
}
