import HTTPTypes
import TestSupport
import Testing

/// What one tenant leaves to another of a node's memory for ephemeral sessions.
@Suite(.timeLimit(.minutes(3))) struct EphemeralRoomTests {
    private func make(_ service: ServiceProcess) async throws -> ServiceProcess.Answer {
        try await service.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#)
    }

    private func makeOne(_ service: ServiceProcess) async throws -> String {
        let answer = try await make(service)
        try #require(answer.status == 201, "\(answer.text)")
        return try #require(member(answer.json, "id", as: String.self))
    }

    /// Whether a tenant makes an ephemeral session and loads something in it.
    private func loads(_ service: ServiceProcess) async throws -> Bool {
        let session = try await makeOne(service)
        let job = try await service.fetch("data:,x", more: #", "session": "\#(session)""#)
        return member(job, "state") == "succeeded"
    }

    @Test func `one tenant makes all the ephemeral sessions it may, and another one still makes some`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key(tenant: "quiet"))
            let hostile = service.speaking(with: try await place.key(tenant: "hostile"))
            try await withThrowingTaskGroup { group in
                for _ in 0..<10 {
                    group.addTask { for _ in 0..<50 { _ = try await makeOne(hostile) } }
                }
                try await group.waitForAll()
            }
            let refused = try await make(hostile)
            #expect(refused.status == 429 && refused.headers[.retryAfter] == "1", "\(refused.text)")
            #expect(member(refused.json, "code") == "tooManySessions")
            #expect(
                member(refused.json, "detail")
                    == "A node has room for 1000 ephemeral sessions, of which a tenant may have as much as it leaves "
                    + "free. Nothing was made.")
            #expect(try await loads(service))
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `one tenant has all the ephemeral jobs it may, another one's run, and cancelling makes room`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key(tenant: "quiet"))
            let hostile = service.speaking(with: try await place.key(tenant: "hostile"))
            func job(in session: String) -> String {
                #"{"session": "\#(session)", "request": "data:,x", "delay": 3600}"#
            }
            var sessions: [String] = []
            for _ in 0..<2 {
                let session = try await makeOne(hostile)
                let lines = Array(repeating: job(in: session), count: 1000).joined(separator: "\n")
                let batch = try await hostile.request(
                    .post, "/v1/jobs/batch", body: lines, headers: [.contentType: "application/x-ndjson"])
                try #require(batch.status == 200 && !batch.text.contains("problem"), "\(batch.text.prefix(1000))")
                sessions.append(session)
            }
            let full = try await hostile.request(.post, "/v1/jobs", body: job(in: sessions[0]))
            #expect(full.status == 429 && full.text.contains("The session has as many jobs"), "\(full.text)")
            let body = job(in: try await makeOne(hostile))
            let refused = try await hostile.request(.post, "/v1/jobs", body: body)
            #expect(refused.status == 429 && refused.headers[.retryAfter] == "1", "\(refused.text)")
            #expect(member(refused.json, "code") == "sessionFull")
            #expect(
                member(refused.json, "detail")
                    == "A node has room for 4000 jobs of ephemeral sessions that have not ended, of which a tenant may "
                    + "have as much as it leaves free. The job was not stored.")
            #expect(try await loads(service))
            _ = try await hostile.request(.post, "/v1/sessions/\(sessions[0])/invalidate?mode=cancel")
            try await until { try await hostile.request(.post, "/v1/jobs", body: body).status == 202 }
            #expect(try await service.stop() == 0)
        }
    }
}
