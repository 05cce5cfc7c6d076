import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The audit of the uses of stored credentials.
@Suite(.timeLimit(.minutes(2))) struct CredentialAuditTests {
    private func store(_ realm: String?, _ origin: LoopbackServer, _ service: ServiceProcess) async throws -> String {
        let named = realm.map { #""realm": "\#($0)", "# } ?? ""
        let answer = try await service.request(
            .post, "/v1/credentials",
            body: #"{"protectionSpace": {"host": "127.0.0.1", "port": \#(origin.port), "protocol": "http", "#
                + #"\#(named)"authenticationMethod": "httpBasic"}, "user": "u", "password": "unsaid"}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func uses(_ service: ServiceProcess, _ query: String = "") async throws -> [[String: Any]] {
        let answer = try await service.request(.get, "/v1/credentials/uses\(query)")
        #expect(!answer.text.contains("unsaid"))
        return try #require(member(answer.json, "data", as: [[String: Any]].self), "\(answer.text)")
    }

    /// The uses, once there are so many: they are written behind the jobs' backs.
    private func uses(_ service: ServiceProcess, count: Int) async throws -> [[String: Any]] {
        var all: [[String: Any]] = []
        try await until {
            all = try await uses(service)
            return all.count >= count
        }
        try #require(all.count == count)
        return all
    }

    // Proves: CRD-5, SEC-61.
    @Test func `each use of a stored credential says by which job, where and when`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await store("Fake Realm", origin, service)
            let other = try await store(nil, origin, service)
            _ = try await service.fetch(origin.url("/get"))
            #expect(try await uses(service).isEmpty)
            let url = origin.url("/basic-auth/u/unsaid")
            let found = try await service.fetch(url)
            #expect(member(found, "response", "status") == 200, "\(found)")
            let named = try await service.fetch(
                url, more: #", "configuration": {"authentication": {"credential": "\#(other)"}}"#)
            #expect(member(named, "response", "status") == 200)
            let all = try await uses(service, count: 2)
            #expect(all.compactMap { member($0, "credential", as: String.self) } == [other, id])
            #expect(member(all[1], "job", as: String.self) == member(found, "id"))
            #expect(member(all[0], "job", as: String.self) == member(named, "id"))
            #expect(member(all[1], "action") == "credential.used")
            #expect(member(all[1], "protectionSpace", "realm") == "Fake Realm")
            #expect(member(all[1], "at", as: String.self)?.hasPrefix("2") == true)
            let first = try await service.request(.get, "/v1/credentials/uses?limit=1")
            let cursor = try #require(member(first.json, "nextCursor", as: String.self), "\(first.text)")
            #expect(try await uses(service, "?limit=1&cursor=\(cursor)").count == 1)
            #expect(try await uses(service, "?credential=\(id)").count == 1)
            #expect(try await service.request(.get, "/v1/credentials/uses?credential=x").status == 400)
            // The uses of a credential that is gone are listed all the same, for its tenant alone.
            _ = try await service.request(.delete, "/v1/credentials/\(id)")
            #expect(try await uses(service).count == 2)
            #expect(try await service.stop() == 0)
            let stranger = try await ServiceProcess.start(
                place, key: try await place.key(tenant: "other"))
            #expect(try await uses(stranger).isEmpty)
            #expect(try await stranger.stop() == 0)
        }
    }

    // The jobs of an ephemeral session are not written down.
    // Proves: SES-3.
    @Test func `a job of an ephemeral session is not named`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await store("Fake Realm", origin, service)
            let session = try await service.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#)
            let name = try #require(member(session.json, "id", as: String.self))
            let job = try await service.fetch(
                origin.url("/basic-auth/u/unsaid"),
                more: #", "session": "\#(name)", "configuration": {"authentication": {"credential": "\#(id)"}}"#)
            #expect(member(job, "response", "status") == 200, "\(job)")
            #expect(try await uses(service, count: 1)[0]["job"] == nil)
        }
    }
}
