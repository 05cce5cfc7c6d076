import Foundation
import HTTPTypes
import TestSupport
import Testing

/// How long jobs wait before they are tried again.
@Suite(.sharedService()) struct BackoffTests {
    /// The pause behind each attempt of a job that has another one, in seconds.
    private func pauses(_ job: [String: Any]) throws -> [Double] {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try (member(job, "attempts", as: [[String: Any]].self) ?? []).compactMap { attempt in
            guard let next = attempt["nextAttemptAt"] as? String else { return nil }
            let finished = try #require(attempt["finishedAt"] as? String)
            return try Date(next, strategy: format).timeIntervalSince(try Date(finished, strategy: format))
        }
    }

    /// A job that has been tried so often and waits for the next attempt, or that had no more of them.
    private func waiting(
        _ backoff: String, after statuses: String = "503", attempts: Int, maximumAttempts: Int = 9, _ path: String
    ) async throws -> [String: Any] {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("503 Busy"))
        let id = try await rig.submit(
            #"{"request": "\#(play.url(path))", "configuration": {"retry": {"maximumAttempts": \#(maximumAttempts), "#
                + #""statuses": [\#(statuses)], "backoff": {\#(backoff)}}}}"#)
        let job = try await rig.service.job(id) {
            member($0, "state") == (attempts < maximumAttempts ? "scheduled" : "failed")
                && member($0, "attempts", as: [Any].self)?.count == attempts
        }
        _ = try await rig.service.request(.post, "/v1/jobs/\(id)/cancel")
        return job
    }

    // So much longer that no delay of this machine's makes it so.
    // Proves: LIF-14.
    @Test func `pauses grow up to the longest`() async throws {
        let grown = try pauses(
            try await waiting(#""initial": 0.5, "factor": 100, "jitter": 0"#, attempts: 2, "grown"))
        #expect(0.49 <= grown[0] && grown[0] < 25 && 49.9 <= grown[1] && grown[1] < 100, "\(grown)")
        // Such a job waits too shortly to be found waiting.
        let bounded = try pauses(
            try await waiting(
                #""initial": 0.05, "factor": 100, "jitter": 0, "maximum": 0.1"#, attempts: 4, maximumAttempts: 4,
                "bounded"))
        #expect(bounded.count == 3 && bounded.allSatisfy { 0.04 <= $0 && $0 < 4 }, "\(bounded)")
    }

    @Test func `pauses are those that a job lists, or works out, after every status that it names`() async throws {
        func isNext(_ pauses: [Double]) -> Bool {
            0.04 <= pauses[0] && pauses[0] < 25 && 59.9 <= pauses[1] && pauses[1] < 100
        }
        let listed = try pauses(
            try await waiting(#""delays": [0.05, 60]"#, after: #""!2xx""#, attempts: 2, "listed"))
        #expect(isNext(listed), "\(listed)")
        let computed = try pauses(
            try await waiting(
                #""expression": "0.05 + 60 * retried""#, after: #""5xx", "!500""#, attempts: 2, "computed"))
        #expect(isNext(computed), "\(computed)")
    }

    // That twenty of them lie so close by chance happens once in a million years.
    // Proves: LIF-14.
    @Test func `pauses are spread at random`() async throws {
        var all: [Double] = []
        for number in 0..<20 {
            let job = try await waiting(#""initial": 1000, "maximum": 1000, "jitter": 1"#, attempts: 1, "\(number)")
            all += try pauses(job)
        }
        #expect(Set(all).count == 20 && all.allSatisfy { 0 <= $0 && $0 < 1100 }, "\(all)")
        #expect(try #require(all.max()) - (try #require(all.min())) > 200, "\(all)")
        let half = try pauses(try await waiting(#""initial": 1000, "maximum": 1000"#, attempts: 1, "half"))
        #expect(499 <= half[0] && half[0] < 1100, "half of it is left to chance by default: \(half)")
    }
}
