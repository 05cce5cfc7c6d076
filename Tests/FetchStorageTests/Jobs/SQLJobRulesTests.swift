import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// `fetchd.check_job` and the reader of the API have the same rules: they refuse the same jobs.
///
/// The node that claims the job checks the members of `request` and `configuration`, so they count by their kind.
@Suite struct SQLJobRulesTests {
    private static let request = #""http://x.example/""#
    private static let ofEachKind = ["null", "true", "0", "1", "-1", "0.5", #""""#, #""x""#, "[]", "[1]", "{}"]

    /// Values at the edges of a member's rule.
    private static let edges: [String: [String]] = [
        "kind": [#""data""#, #""download""#, #""Data""#],
        "session": [#""default""#, #""ses_1""#],
        "priority": ["1e0", "1.0001", "-0.0001", "0.999", #""0.5""#],
        "runAt": times,
        "expiresAt": times,
        "suspended": ["false", #""no""#],
        "discretionary": ["false", #""yes""#],
        "initiated": [#""interactive""#, #""background""#, #""nobody""#],
        "flow": [
            #"{"key": ""}"#, #"{"key": 1}"#, #"{"key": "a", "more": 1}"#, #"{"key": "\#(text(256))"}"#,
            #"{"key": "\#(text(257))"}"#, #"{"key": "ü"}"#,
        ],
        "labels": [
            #"{"a": "b"}"#, #"{"a": 1}"#, #"{"a": null}"#, #"{"": "b"}"#, #"{"a": ""}"#, labels(32), labels(33),
            #"{"\#(text(64))": ""}"#, #"{"\#(text(65))": ""}"#, #"{"a": "\#(text(256))"}"#, #"{"a": "\#(text(257))"}"#,
        ],
        "resumeFrom": [#""blb_1""#],
        "webhook": [
            #"{"endpoint": "whe_1"}"#, #"{"endpoint": null}"#, #"{"endpoint": "$"}"#,
            #"{"endpoint": "$", "more": 1}"#, #"{"endpoint": "$", "events": []}"#,
            #"{"endpoint": "$", "events": "job.finished"}"#, #"{"endpoint": "$", "events": ["job.finished"]}"#,
            #"{"endpoint": "$", "events": ["job.finished", "job.unheard"]}"#,
        ],
        "group": [#""grp_1""#],
    ]

    private static let times = [
        "2099-11-21T10:52:00Z", "2099-11-21t10:52:00.123456z", "2099-11-21T10:52:00+01:00", "2099-11-21T10:52:00",
        "2099-11-21", "2099-02-28T00:00:00Z", "2099-02-29T00:00:00Z", "2096-02-29T23:59:60Z", "2099-13-01T00:00:00Z",
        "2099-00-01T00:00:00Z", "2099-01-32T00:00:00Z", "2099-01-01T24:00:00Z", "2099-01-01T00:60:00Z",
        "2099-01-01T00:00:61Z", "2099-01-01T00:00:00.1234567890Z", "2099-01-01T00:00:00+24:00",
        "2099-01-01T00:00:00+01:60", "2099-01-01T00:00:00 Z", "tomorrow", "infinity",
    ].map { "\"\($0)\"" }

    private static let together = [
        #""runAt": "2099-01-01T01:00:00+01:00", "expiresAt": "2099-01-01T00:00:00Z""#,
        #""runAt": "2099-01-01T01:00:00+01:00", "expiresAt": "2099-01-01T00:00:01Z""#,
        #""kind": "download", "resumeFrom": "blb_1""#, #""kind": "data", "resumeFrom": "blb_1""#,
    ]

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    private static func labels(_ count: Int) -> String {
        "{" + (0..<count).map { #""\#($0)": "x""# }.joined(separator: ", ") + "}"
    }

    /// The members that the reader knows, in its own words.
    private static func members() throws -> [String] {
        let json = try JSONParser.parse(#"{"request": \#(request), "no member": 1}"#.utf8)
        do throws(InvalidInput) {
            _ = try JobSpec(json: json)
        } catch {
            let message = try #require(error.violations.first?.message)
            return message.split(separator: "known are: ").last?.split(separator: ", ").map { String($0) } ?? []
        }
        return []
    }

    /// The members of a job that the reader refuses.
    private func refusedByReader(_ job: String) throws -> Set<String> {
        let json = try JSONParser.parse(job.utf8)
        do throws(InvalidInput) {
            _ = try JobSpec(json: json)
            return []
        } catch {
            return Set(error.violations.map { Self.member($0.pointer) })
        }
    }

    private static func member(_ pointer: some StringProtocol) -> String {
        pointer.split(separator: "/").first.map { String($0) } ?? ""
    }

    private func check(_ job: String, _ fixture: StoreFixture, _ endpoint: WebhookEndpoint.ID, null: Bool) async throws
    {
        let job = job.replacing("$", with: "\(endpoint)")
        let refusal = try await fixture.refusal(of: job)
        // A member that is null counts as left out.
        let refused = null ? [] : try refusedByReader(job)
        #expect(refusal.isEmpty == refused.isEmpty, "\(job): \(refusal), \(refused)")
        if !refusal.isEmpty {
            #expect(refused.contains(Self.member(refusal.prefix { $0 != " " })), "\(job): \(refusal), \(refused)")
        }
    }

    @Test func `the database and the reader of the API refuse the same jobs`() async throws {
        try await StoreFixture.with { fixture in
            let endpoint = WebhookEndpoint.ID()
            try await fixture.database.client.query(
                """
                INSERT INTO webhook_endpoints (tenant_id, id, url, events, sealed_secret)
                VALUES (1, \(endpoint), 'https://receiver.example/', '{job.finished}', '')
                """)
            let members = try Self.members()
            #expect(
                Set(Self.edges.keys).union(["request", "configuration", "delay", "unique", "callbacks"]) == Set(members)
            )
            // Nobody needs a delay where the time is known: there is `now() + interval`. Nor a unique key in a transaction
            // that can look before it stores. Callbacks are sealed, which the database cannot.
            for member in members where !["request", "delay", "unique", "callbacks"].contains(member) {
                for value in Self.ofEachKind + Self.edges[member, default: []] {
                    let job = #"{"request": \#(Self.request), "\#(member)": \#(value)}"#
                    try await check(job, fixture, endpoint, null: value == "null")
                }
            }
            for value in Self.ofEachKind where value != "null" {
                try await check(#"{"request": \#(value)}"#, fixture, endpoint, null: false)
            }
            for words in Self.together {
                try await check(#"{"request": \#(Self.request), \#(words)}"#, fixture, endpoint, null: false)
            }
        }
    }
}
