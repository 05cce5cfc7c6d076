import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Attempts of one job after another, through running services.
@Suite struct RetryTests {
    /// An origin that plays one answer after the other, the last one again and again; nil breaks the connection.
    private static func origin(_ answers: String?...) throws -> WireOrigin {
        let count = Mutex(0)
        return try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let number = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                guard let answer = answers[min(number, answers.count - 1)] else { return connection.reset() }
                try connection.send(answer)
            }
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let quick = #""backoff": {"initial": 0.01}"#

    private static func retry(_ members: String) -> String { #", "configuration": {"retry": {\#(members)}}"# }

    // R1, R33, R36
    // Proves: LIF-14.
    @Test func `a transient failure is tried again, and every attempt is listed`() async throws {
        let origin = try Self.origin(nil, nil, Self.ok)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(origin.url(), more: Self.retry(Self.quick))
            #expect(member(job, "state") == "succeeded")
            let attempts = try #require(member(job, "attempts", as: [[String: Any]].self))
            #expect(attempts.map { $0["error"] as? String } == ["networkConnectionLost", "networkConnectionLost", nil])
            #expect(attempts.map { $0["nextAttemptAt"] != nil } == [true, true, false])
            #expect(attempts.map { $0["number"] as? Int } == [1, 2, 3])
            #expect(member(job, "effectiveConfiguration", "retry", "maximumAttempts", "value") == nil)
            let id = try #require(member(job, "id", as: String.self))
            let full = try await service.request(.get, "/v1/jobs/\(id)?include=effectiveConfiguration").json
            #expect(member(full, "effectiveConfiguration", "retry", "maximumAttempts", "value") == 3)
        }
    }

    // Proves: LIF-14.
    @Test func `a server that asks for time is left alone for so long`() async throws {
        let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy"
        let origin = try Self.origin(busy, Self.ok)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(origin.url(), more: Self.retry(Self.quick + #", "statuses": [503]"#))
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "attempts", "0", "status") == 503)
            let times = ["finishedAt", "nextAttemptAt"].compactMap { member(job, "attempts", "0", $0, as: String.self) }
            let formatter = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let dates = try times.map { try Date($0, strategy: formatter) }
            #expect(dates[1].timeIntervalSince(dates[0]) >= 0.99)
        }
    }

    // Proves: LIF-14, ERR-2.
    @Test func `a status that is a failure fails the job in the end, with the response`() async throws {
        let origin = try Self.origin("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(
                origin.url(), more: Self.retry(Self.quick + #", "statuses": [503], "maximumAttempts": 2"#))
            #expect(member(job, "state") == "failed")
            #expect(member(job, "error", "name") == "badServerResponse")
            #expect(member(job, "response", "status") == 503)
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "busy")

            let id = try #require(member(job, "id", as: String.self))
            let again = try await service.request(.post, "/v1/jobs/\(id)/retry")
            #expect(again.status == 202, "\(again.text)")
            let ended = try await service.job(id) { member($0, "state") == "failed" }
            #expect(member(ended, "attempts", as: [Any].self)?.count == 4)
        }
    }

    // Proves: UPL-12, REL-6.
    @Test func `a POST is not sent twice, unless it is allowed to be`() async throws {
        let origin = try Self.origin(nil)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let post = #", "method": "POST""#
            let once = try await service.fetch(origin.url(), request: post, more: Self.retry(Self.quick))
            #expect(member(once, "attempts", as: [Any].self)?.count == 1)
            let more = Self.retry(Self.quick + #", "replayUnsafe": true"#)
            let often = try await service.fetch(origin.url(), request: post, more: more)
            #expect(member(often, "attempts", as: [Any].self)?.count == 3)
        }
        let closed = try WireOrigin(isOpen: false) { _ in }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(closed.port)"]) { service in
            let post = #", "method": "POST""#
            let unsent = try await service.fetch(closed.url(), request: post, more: Self.retry(Self.quick))
            #expect(member(unsent, "attempts", as: [Any].self)?.count == 3)
            let kept = try await service.request(
                .post, "/v1/jobs/\(try #require(member(unsent, "id", as: String.self)))/retry")
            #expect(kept.status == 202)
        }
    }

    // Proves: LIF-15, DLD-15, TSK-10.
    @Test func `a download goes on in its next attempt where the last one stopped`() async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\n01234"
        let rest = "HTTP/1.1 206 P\r\nETag: \"a\"\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\n56789"
        let first = Mutex(true)
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            let isFirst = first.withLock { first in
                defer { first = false }
                return first
            }
            try connection.send(isFirst ? head : rest)
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(origin.url("/f"), more: #", "kind": "download""# + Self.retry(Self.quick))
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
            #expect(origin.received(on: 1).contains("Range: bytes=5-"))
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "0123456789")
        }
    }

    // R7
    // Proves: REL-1.
    @Test(.timeLimit(.minutes(2)))
    func `the next attempt is made although the node that failed is gone`() async throws {
        let origin = try Self.origin(nil, Self.ok)
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let more = Self.retry(#""backoff": {"initial": 1, "jitter": 0}"#)
            let body = #"{"request": {"url": "\#(origin.url())"}\#(more)}"#
            let id = try #require(
                member(try await first.request(.post, "/v1/jobs", body: body).json, "id", as: String.self))
            _ = try await first.job(id) { member($0, "state") == "scheduled" }
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "finishedAt", as: String.self) != nil }
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
            try await second.stop()
        }
    }

    @Test func `jobs of ephemeral sessions are tried again in memory`() async throws {
        let origin = try Self.origin(nil, Self.ok)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let body = #"{"kind": "ephemeral"\#(Self.retry(Self.quick))}"#
            let session = try await service.request(.post, "/v1/sessions", body: body)
            let id = try #require(member(session.json, "id", as: String.self), "\(session.text)")
            let job = try await service.fetch(origin.url(), more: #", "session": "\#(id)""#)
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "attempts", "0", "error") == "networkConnectionLost")
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
        }
    }

    // MARK: Times

    // Proves: BEY-3.
    @Test func `a job starts at its time, and not at all when that is too late`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        // A heartbeat finds jobs that are over before they begin.
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { service in
            let time = { (seconds: Double) in
                Date.now.addingTimeInterval(seconds).ISO8601Format(.init(includingFractionalSeconds: true))
            }
            let start = time(0.5)
            let job = try await service.fetch(origin.url(), more: #", "runAt": "\#(start)""#)
            #expect(try #require(member(job, "startedAt", as: String.self)) >= start)
            let late = try await service.fetch(origin.url(), more: #", "expiresAt": "\#(time(-1))""#)
            #expect(member(late, "state") == "failed")
            #expect(member(late, "error", "name") == "timedOut")
            #expect(member(late, "attempts", as: [Any].self)?.isEmpty == true)
        }
    }

    @Test func `a job that runs is given up when it expires`() async throws {
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.receiveToEnd()
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let time = Date.now.addingTimeInterval(2).ISO8601Format(.init(includingFractionalSeconds: true))
            let job = try await service.fetch(origin.url(), more: #", "expiresAt": "\#(time)""#)
            #expect(member(job, "state") == "failed")
            #expect(member(job, "error", "name") == "timedOut")
            #expect(member(job, "attempts", as: [Any].self)?.count == 1)
        }
    }
}
