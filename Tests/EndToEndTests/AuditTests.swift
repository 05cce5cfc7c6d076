import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Who did what, from the request to the check of the chain.
@Suite(.timeLimit(.minutes(2))) struct AuditTests {
    private func entries(_ service: ServiceProcess, _ query: String) async throws -> [[String: Any]] {
        let answer = try await service.request(.get, "/v1/audit\(query)")
        return try #require(member(answer.json, "data", as: [[String: Any]].self), "\(answer.text)")
    }

    // Proves: SEC-12, SEC-61.
    @Test func `a refused target and what a client did are in the log, without secrets and queries`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let admin = try await place.key(scopes: .all)
            let service = try await ServiceProcess.start(place, key: key)
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "http://10.1.2.3/path?token=unsaid"}}"#)
            if let id = member(answer.json, "id", as: String.self) { _ = try await service.end(of: id) }
            var refused: [[String: Any]] = []
            try await until {
                refused = try await entries(service, "?action=targets.refuse")
                return !refused.isEmpty
            }
            #expect(member(refused[0], "object") == "http://10.1.2.3/path", "\(refused)")
            #expect(member(refused[0], "details", "code") == "addressForbidden")
            let made = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "a.example", "port": 80, "protocol": "http", "#
                    + #""authenticationMethod": "httpBasic"}, "user": "u", "password": "unsaid"}"#)
            let credential = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            _ = try await service.request(.delete, "/v1/credentials/\(credential)")
            // What was acknowledged is there at once.
            let changes = try await entries(service, "?action=credentials.*")
            #expect(
                changes.compactMap { member($0, "action", as: String.self) } == [
                    "credentials.delete", "credentials.set",
                ])
            #expect(member(changes[0], "object") == credential && member(changes[0], "actor", "kind") == "key")
            #expect(member(changes[0], "actor", "client") == "127.0.0.1")
            let all = try await service.request(.get, "/v1/admin/audit?limit=100", key: admin)
            #expect(all.text.contains("keys.create") && !all.text.contains("unsaid"))
            let check = try await service.request(.get, "/v1/admin/audit/verify", key: admin)
            #expect(member(check.json, "isIntact") == true, "\(check.text)")
            #expect(try await service.stop() == 0)
        }
    }
}
