import FetchJobs
import FetchRuntime
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// One attempt of a job, while the database fails or refuses.
@Suite struct JobExecutionTests {
    private let unavailable = StoreError(.unavailable, "The database is away.")

    // Proves: REL-8.
    @Test func `what came of a job is stored however long the database is away, once`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        for _ in 0..<5 { fixture.queue.fail(.settle, with: unavailable) }
        try await fixture.run {
            let job = try await fixture.submit(origin.url)
            try await until { fixture.intake.running.endingCount == 1 }
            // A job that has run leaves its slot before it is stored.
            try await until { fixture.intake.slots.areEmpty }
            try await until {
                fixture.clock.advance(by: .milliseconds(100))
                return try await fixture.job(job)?.state == .succeeded
            }
            #expect(try await fixture.job(job)?.attempts.count == 1)
            #expect(try await fixture.store.body(of: job, tenant: fixture.tenant)?.bytes == 2)
        }
    }

    @Test func `an end whose answer was lost is stored once`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        fixture.queue.fail(.settle, with: unavailable, losingTheAnswer: true)
        try await fixture.run {
            let job = try await fixture.submit(origin.url)
            try await fixture.until(job, .succeeded)
            try await until {
                fixture.clock.advance(by: .milliseconds(100))
                return fixture.intake.running.ids.isEmpty
            }
            #expect(try await fixture.job(job)?.attempts.count == 1)
        }
    }

    @Test func `an outcome that the database refuses ends the job`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        fixture.queue.fail(.settle, with: StoreError(.failed, "The row is refused."))
        try await fixture.run {
            let job = try await fixture.submit(origin.url)
            try await fixture.until(job, .failed)
            #expect(try await fixture.job(job)?.attempts.map(\.errorName) == ["cannotParseResponse"])
        }
    }

    @Test func `a request is not sent while nobody knows whether its beginning is committed`() async throws {
        let asked = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                asked.add(1)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let fixture = try await WorkerFixture()
        fixture.queue.fail(.begin, with: unavailable, losingTheAnswer: true)
        try await fixture.run {
            await fixture.node.settleIn()
            let job = try await fixture.submit(origin.url, method: "POST")
            try await until { fixture.dispatcher.unsent.withLock(\.count) == 1 }
            try await until { fixture.intake.running.ids.isEmpty }
            #expect(fixture.intake.hasUncertainCommits)
            #expect(asked.value == 0)
            #expect(try await fixture.job(job)?.state == .running)
            // It has sent nothing, so it may run again.
            fixture.queue.letPass(.seconds(10))
            await fixture.node.beat()
            try await fixture.until(job, .succeeded)
            #expect(asked.value == 1)
        }
    }

    @Test func `an attempt that another one follows waits for its time, and gives its slot away`() async throws {
        let asked = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let status = asked.add(1) == 1 ? "503 Service Unavailable" : "200 OK"
                try connection.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let job = try await fixture.submit(origin.url, more: #", "configuration": {"retry": {"statuses": [503]}}"#)
            try await fixture.until(job, .scheduled)
            try await until { fixture.intake.slots.areEmpty }
            #expect(asked.value == 1)
            fixture.queue.letPass(.seconds(600))
            await fixture.node.beat()
            try await fixture.until(job, .succeeded)
            #expect(try await fixture.job(job)?.attempts.map(\.status) == [503, 200])
        }
    }

    @Test func `a job whose session is gone fails`() async throws {
        let fixture = try await WorkerFixture()
        let session = NewSession(tenant: fixture.tenant, spec: SessionSpec(kind: .ephemeral))
        _ = try await fixture.sessions.create(session)
        let job = try await fixture.submit("http://127.0.0.1:9/", more: #", "session": "\#(session.id)""#)
        fixture.sessions.lose(session.id)
        try await fixture.run {
            try await fixture.until(job, .failed)
            #expect(try await fixture.job(job)?.attempts.map(\.errorName) == ["sessionInvalidated"])
        }
    }
}
