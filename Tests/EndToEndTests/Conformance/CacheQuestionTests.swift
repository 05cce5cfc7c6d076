import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What is asked before a response is stored, and what answers and rules make of the entry.
@Suite(.sharedService()) struct CacheQuestionTests {
    /// An answer that stores, and what is found of the entry.
    struct Storing: Sendable, CustomTestStringConvertible {
        /// As JSON.
        let answer: String
        var body = "from the origin"
        var userInfo: [String: String] = [:]
        /// Whether there is a row, which outlives the node.
        var isListed = true
        var testDescription: String { answer }
    }

    private static let all = [
        Storing(answer: #""store""#),
        Storing(answer: #"{"answer": "store", "userInfo": {"by": "me"}}"#, userInfo: ["by": "me"]),
        Storing(answer: #"{"answer": "store", "body": {"text": "in its place"}}"#, body: "in its place"),
        Storing(answer: #"{"answer": "store", "storagePolicy": "allowedInMemoryOnly"}"#, isListed: false),
        Storing(
            answer: #"{"answer": "store", "userInfo": {"by": "me"}, "body": {"text": "in its place"}}"#,
            body: "in its place", userInfo: ["by": "me"]),
    ]

    private func play(_ rig: Rig) -> Stage.Play {
        rig.stage.play(
            answer("200 OK", "Cache-Control: max-age=600", "Content-Type: text/plain", body: "from the origin"),
            answer("200 OK", "Cache-Control: max-age=600", body: "again"))
    }

    /// Runs a job that stores by a rule, or by an answer to its question, and gives it at its end.
    private func load(_ url: String, _ rig: Rig, _ session: String, _ answer: String, asks: Bool) async throws
        -> [String: Any]
    {
        guard asks else {
            let rules = #""rules": [{"on": "willCacheResponse", "answer": \#(answer)}]"#
            return try await rig.fetch(url, configuration: rules, session: session)
        }
        let id = try await rig.service.submit(
            url, asking: #"["willCacheResponse"]"#, spec: #", "session": "\#(session)""#)
        let question = try await rig.service.question(of: id)
        #expect(member(question, "facts", "bodyBytes") == "from the origin".utf8.count, "\(question)")
        #expect(member(question, "facts", "storagePolicy") == "allowed")
        #expect(member(question, "facts", "response", "status") == 200)
        let answered = try await rig.service.answer(question, answer)
        #expect(answered.status == 200, "\(answered.text)")
        return try await rig.service.end(of: id)
    }

    private func entries(_ rig: Rig, _ session: String) async throws -> [[String: Any]] {
        let list = try await rig.service.request(.get, "/v1/cache?session=\(session)")
        return try #require(member(list.json, "data", as: [[String: Any]].self), "\(list.text)")
    }

    // The job itself has what the origin has sent; header fields of the entry stay the origin's.
    // Proves: CCH-12.
    @Test(arguments: all, [true, false])
    func `an entry is stored as it is, or with other data, user info or policy`(_ storing: Storing, _ asks: Bool)
        async throws
    {
        let rig = try SharedService.current
        let (play, session) = (play(rig), try await rig.makeSession())
        let job = try await load(play.url(), rig, session, storing.answer, asks: asks)
        #expect(try await rig.text(of: job) == "from the origin", "\(job)")
        let list = try await entries(rig, session)
        #expect(list.count == (storing.isListed ? 1 : 0))
        for entry in list {
            let id = try #require(member(entry, "id", as: String.self))
            let shown = try await rig.service.request(.get, "/v1/cache/entries/\(id)")
            #expect(member(shown.json, "userInfo") == storing.userInfo, "\(shown.text)")
            #expect(member(shown.json, "storagePolicy") == "allowed")
            #expect(member(shown.json, "mimeType") == "text/plain")
            let href = try #require(member(shown.json, "body", "href", as: String.self), "\(shown.text)")
            #expect(try await rig.service.request(.get, href).text == storing.body)
        }
        let next = try await rig.fetch(play.url(), session: session)
        #expect(member(next, "response", "fromCache") == true)
        #expect(try await rig.text(of: next) == storing.body)
        #expect(play.requests.count == 1)
    }

    // Proves: CCH-12.
    @Test(arguments: [true, false]) func `an entry is refused`(_ asks: Bool) async throws {
        let rig = try SharedService.current
        let (play, session) = (play(rig), try await rig.makeSession())
        let job = try await load(play.url(), rig, session, #""doNotStore""#, asks: asks)
        #expect(try await rig.text(of: job) == "from the origin", "\(job)")
        #expect(try await entries(rig, session).isEmpty)
        let next = try await rig.fetch(play.url(), session: session)
        #expect(member(next, "response", "fromCache") == false)
        #expect(try await rig.text(of: next) == "again")
    }

    // The limit of the answer is the policy that is proposed.
    @Test func `an answer is no laxer than what is proposed`() async throws {
        let rig = try SharedService.current
        let (play, session) = (play(rig), try await rig.makeSession())
        let id = try await rig.service.submit(
            play.url(), asking: #"["willCacheResponse"]"#, spec: #", "session": "\#(session)""#,
            configuration: #", "cache": {"storagePolicy": "allowedInMemoryOnly"}"#)
        let question = try await rig.service.question(of: id)
        #expect(member(question, "facts", "storagePolicy") == "allowedInMemoryOnly")
        let lax = try await rig.service.answer(question, #"{"answer": "store", "storagePolicy": "allowed"}"#)
        #expect(lax.status == 422 && member(lax.json, "errors", "0", "pointer") == "/storagePolicy", "\(lax.text)")
        #expect(try await rig.service.answer(question, #""store""#).status == 200)
        _ = try await rig.service.end(of: id)
        #expect(try await entries(rig, session).isEmpty)
    }

    // The first is stored, so it is asked about: its delegate is there.
    // Proves: CCH-11.
    @Test(arguments: [
        ("Cache-Control: max-age=600", "200 OK", "", "", true),
        ("Cache-Control: no-store", "200 OK", "", "", false),
        ("Cache-Control: max-age=600", "206 Part", "", "", false),
        ("Cache-Control: max-age=600", "401 No", "", "", false),
        ("Cache-Control: max-age=600", "200 OK", #""method": "POST", "body": {"text": "x"}"#, "", false),
        (
            "Cache-Control: max-age=600", "200 OK", #""headers": {"Cache-Control": "no-store"}"#, "", false
        ),
        ("Cache-Control: max-age=600", "200 OK", "", #""cache": {"storagePolicy": "notAllowed"}"#, false),
        ("Cache-Control: max-age=600", "404 No", "", #""cache": {"cacheableStatuses": "success"}"#, false),
    ])
    func `a delegate is asked about what could be stored, and about nothing else`(
        _ field: String, _ code: String, _ request: String, _ configuration: String, _ isAsked: Bool
    ) async throws {
        let rig = try SharedService.current
        let endpoint = rig.other.play(answer("200 OK", "Content-Type: application/json", body: "\"store\""))
        let made = try await rig.service.request(
            .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(endpoint.url())"}"#)
        let id = try #require(member(made.json, "id", as: String.self), "\(made.text)")
        let delegate =
            #""delegate": {"via": "webhook", "endpoint": "\#(id)", "questions": ["willCacheResponse"]}"#
        let (play, session) = (rig.stage.play(answer(code, field, body: "x")), try await rig.makeSession())
        let job = try await rig.fetch(
            play.url(), request,
            configuration: [delegate, configuration].filter { !$0.isEmpty }.joined(separator: ", "), session: session)
        #expect(status(of: job) == Int(code.prefix(3)), "\(job)")
        #expect(endpoint.requests.count == (isAsked ? 1 : 0))
        #expect(try await entries(rig, session).count == (isAsked ? 1 : 0))
    }
}
