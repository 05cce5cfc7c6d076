import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Answers that clients put into the cache of a session.
@Suite(.timeLimit(.minutes(2))) struct CachePutTests {
    private func put(
        _ service: ServiceProcess, _ url: String, text: String, more: String = ""
    ) async throws -> ServiceProcess.Answer {
        try await service.request(
            .post, "/v1/cache/entries",
            body: #"{"url": "\#(url)", "status": 200, "body": {"text": "\#(text)"}\#(more)}"#)
    }

    private func headers(_ fields: (String, String)...) -> String {
        let list = fields.map { #"{"name": "\#($0.0)", "value": "\#($0.1)"}"# }.joined(separator: ", ")
        return #""headers": [\#(list)]"#
    }

    private func makeSession(_ service: ServiceProcess) async throws -> String {
        let answer = try await service.request(.post, "/v1/sessions", body: "{}")
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func text(_ job: [String: Any], _ service: ServiceProcess) async throws -> String {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self), "\(job)")).text
    }

    // On another node too, which has asked the origin before; its replacement is given from then on.
    // Proves: CCH-18, CCH-19.
    @Test func `an answer that is put there is given to the jobs of its session, and to no others`() async throws {
        let stage = try Stage()
        let play = stage.play(answer("200 OK", "Cache-Control: no-store", body: "origin"))
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(stage.port)"]) { place in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            let stranger = nodes[0].speaking(with: try await place.key(tenant: "other"))
            let (id, url) = (try await makeSession(nodes[0]), play.url("a"))
            let session = #", "session": "\#(id)""#
            #expect(try await text(nodes[1].fetch(url, more: session), nodes[1]) == "origin")
            let fields = headers(
                ("Content-Type", "text/x-mine"), ("Cache-Control", "max-age=1000"), ("Set-Cookie", "a=1"))
            for round in 1...2 {
                let more = #"\#(session), "userInfo": {"from": "me"}, \#(fields)"#
                let made = try await put(nodes[0], url, text: "put \(round)", more: more)
                #expect(made.status == 201 && member(made.json, "verdict") == "hit", "\(made.text)")
                #expect(member(made.json, "session") == id && member(made.json, "userInfo", "from") == "me")
                #expect(!made.text.contains("Set-Cookie"))
                for node in [nodes[1], nodes[0]] {
                    let job = try await node.fetch(url, more: session)
                    #expect(member(job, "response", "fromCache") == true, "\(job)")
                    #expect(member(job, "response", "mimeType") == "text/x-mine")
                    #expect(try await text(job, node) == "put \(round)")
                }
                let path = try #require(made.headers[.location])
                #expect(try await nodes[1].request(.get, path + "/body").text == "put \(round)")
                #expect(try await stranger.request(.get, path).status == 404)
            }
            #expect(play.requests.count == 1)
            let cookies = try await nodes[0].request(.get, "/v1/cookies?session=\(id)").json
            #expect(member(cookies, "data", as: [Any].self)?.isEmpty == true)

            // Neither another session of the tenant nor another tenant has any of it.
            #expect(try await text(nodes[0].fetch(url), nodes[0]) == "origin")
            let refused = try await put(stranger, url, text: "theirs", more: session)
            #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/session")
            #expect(try await put(stranger, url, text: "theirs", more: ", \(fields)").status == 201)
            #expect(try await text(stranger.fetch(url), stranger) == "theirs")
            #expect(try await text(nodes[0].fetch(url), nodes[0]) == "origin")
            #expect(try await text(nodes[1].fetch(url, more: session), nodes[1]) == "put 2")
            let list = try await nodes[1].request(.get, "/v1/cache").json
            #expect(member(list, "data", as: [Any].self)?.count == 1)
            #expect(play.requests.count == 3)
            for node in nodes { #expect(try await node.stop() == 0) }
        }
    }

    // Proves: CCH-18.
    @Test func `of answers that vary, a request is given the one whose fields it has`() async throws {
        let stage = try Stage()
        let play = stage.play(answer("200 OK", "Cache-Control: no-store", body: "origin"))
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(stage.port)"]) { service in
            let fields = headers(("Cache-Control", "max-age=1000"), ("Vary", "Accept-Language"))
            for language in ["de", "fr"] {
                let request = #", "request": {\#(headers(("Accept-Language", language)))}"#
                let made = try await put(service, play.url("a"), text: "in \(language)", more: ", \(fields)\(request)")
                #expect(made.status == 201 && member(made.json, "varies", "0") == "accept-language", "\(made.text)")
            }
            for (language, expected) in [("de", "in de"), ("fr", "in fr"), ("en", "origin")] {
                let request = ", \(headers(("Accept-Language", language)))"
                #expect(try await text(service.fetch(play.url("a"), request: request), service) == expected)
            }
            #expect(play.requests.count == 1)
        }
    }

    @Test func `an answer that is larger than the cache keeps is refused, and leaves what there is`() async throws {
        // A twentieth for one.
        try await ServiceProcess.with(allowing: [], settings: ["CACHE_CAPACITY_BYTES": "20000"]) { service in
            let url = "https://origin.example/a"
            #expect(try await put(service, url, text: String(repeating: "x", count: 1000)).status == 201)
            let refused = try await put(service, url, text: String(repeating: "y", count: 1001))
            #expect(refused.status == 413 && member(refused.json, "code") == "contentTooLarge", "\(refused.text)")
            #expect(member(refused.json, "detail") == "The cache keeps bodies of up to 1000 bytes.")
            let list = try await service.request(.get, "/v1/cache").json
            #expect(member(list, "data", as: [Any].self)?.count == 1)
            #expect(member(list, "data", "0", "bytes") == 1000)
        }
    }
}
