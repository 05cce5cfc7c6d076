import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The requests of QStash, up to what arrives at a destination.
@Suite(.timeLimit(.minutes(2)), .sharedService()) struct QStashTests {
    private static let script = FileManager.default.currentDirectoryPath + "/Tests/QStash/client.py"

    /// Publishes a message; its id.
    private func publish(_ url: String, _ headers: [String: String] = [:], body: String = "x") async throws -> String {
        let answer = try await send("publish/\(url)", headers, body: body)
        return try #require(member(answer.json, "messageId", as: String.self), "\(answer.text)")
    }

    private func send(
        _ path: String, _ headers: [String: String] = [:], body: String = "x"
    ) async throws -> ServiceProcess.Answer {
        var fields = HTTPFields()
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        return try await SharedService.current.service.request(.post, "/v2/\(path)", body: body, headers: fields)
    }

    private func content(of body: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    /// The standard output of the client's script.
    private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
        let python = try #require(LoopbackServer.python("python"))
        return try await onThread {
            let program = try Program([python, Self.script] + arguments, readsOutput: true, readsErrors: true)
            let (output, errors) = (program.output(), program.errors())
            return (program.waitForEnd(), output, errors)
        }
    }

    @Test func `the client of PyPI speaks to the service, and its receiver takes signatures by either key`()
        async throws
    {
        let rig = try SharedService.current
        // A tenant of its own, as the client cancels all messages.
        let key = try await rig.place.key(tenant: "qstash")
        let play = rig.stage.play(answer())
        let client = try await run(rig.service.base, key, String(play.url().dropLast()))
        try #require(client.status == 0, "\(client.errors)")
        let told = try #require(try JSONSerialization.jsonObject(with: Data(client.output.utf8)) as? [String: Any])
        try await until { play.requests.contains { !$0.values("x-own").isEmpty } }
        let request = try #require(play.requests.first { !$0.values("x-own").isEmpty })
        #expect(request.values("upstash-message-id") == [member(told, "sent", as: String.self)].compactMap(\.self))
        #expect(request.values("upstash-retried") == ["0"] && request.values("user-agent") == ["Upstash-QStash"])
        #expect(request.values("upstash-caller-ip") == ["127.0.0.1"])
        #expect(String(decoding: request.body, as: UTF8.self).contains("w\\u00f6rld"))
        let signature = try #require(request.values("upstash-signature").first)
        let keys = try #require(told["keys"] as? [String])
        let url = play.url("ok?a=1&b=%20")
        let body = String(decoding: request.body, as: UTF8.self)
        func verdict(_ current: String, _ next: String, _ url: String, _ body: String) async throws -> Int32 {
            try await run("verify", current, next, signature, url, body).status
        }
        #expect(try await verdict(keys[0], keys[1], url, body) == 0)
        // What was signed before a rotation is told by the key before it alone.
        #expect(try await verdict("sig_other", keys[0], url, body) == 0)
        #expect(try await verdict(keys[1], "sig_other", url, body) != 0)
        #expect(try await verdict(keys[0], keys[1], url + "&c", body) != 0)
        #expect(try await verdict(keys[0], keys[1], url, body + " ") != 0)
    }

    @Test func `a message is retried until a status is 2xx, each time with its count and a signature of its own`()
        async throws
    {
        let play = try SharedService.current.stage.play(
            answer("500 Oops"), answer("302 Found", "Location: /"),
            answer("429 Busy", "X-RateLimit-Reset-Tokens: 0.1s"),
            answer("204 No Content"))
        let id = try await publish(play.url(), ["Upstash-Retry-Delay": "1 + retried", "Upstash-Retries": "5"])
        let job = try await SharedService.current.service.end(of: id)
        #expect(member(job, "state") == "succeeded", "\(job)")
        #expect(play.requests.map { $0.values("upstash-retried") } == [["0"], ["1"], ["2"], ["3"]])
        #expect(Set(play.requests.flatMap { $0.values("upstash-signature") }).count == 4)
        #expect(play.requests.allSatisfy { $0.line.hasPrefix("POST ") && $0.values("upstash-message-id") == [id] })
    }

    @Test func `status 489 with the field that says so is the end, and without it is not`() async throws {
        let rig = try SharedService.current
        let final = rig.stage.play(answer("489 No", "Upstash-NonRetryable-Error: true"))
        let other = rig.stage.play(answer("489 No"))
        let ids = try await [
            publish(final.url(), ["Upstash-Retry-Delay": "1"]),
            publish(other.url(), ["Upstash-Retry-Delay": "1", "Upstash-Retries": "1"]),
        ]
        for id in ids { #expect(member(try await rig.service.end(of: id), "state") == "failed") }
        #expect(final.requests.count == 1 && other.requests.count == 2)
    }

    @Test func `a destination that is busy delays its message, and no other job of its host`() async throws {
        let rig = try SharedService.current
        let busy = rig.other.play(answer("503 Busy", "Retry-After: 3600"))
        let id = try await publish(busy.url(), ["Upstash-Retry-Delay": "1"])
        let waiting = try await rig.service.job(id) { member($0, "nextAttemptAt", as: String.self) != nil }
        let next = try #require(member(waiting, "nextAttemptAt", as: String.self).flatMap { Timestamp(rfc3339: $0) })
        #expect(next > Timestamp.now.advanced(by: .seconds(3000)))
        let other = try await publish(rig.other.play(answer()).url())
        #expect(member(try await rig.service.end(of: other), "state") == "succeeded")
        #expect(try await rig.service.request(.delete, "/v2/messages/\(id)").status == 202)
    }

    @Test func `a queue delivers one message after the other, in their order, and the next waits for retries`()
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("500 Oops"), answer())
        var ids: [String] = []
        for number in 1...4 {
            let answer = try await send(
                "enqueue/ordered/\(play.url(String(number)))", ["Upstash-Retry-Delay": "100"], body: "\(number)")
            ids.append(try #require(member(answer.json, "messageId", as: String.self), "\(answer.text)"))
        }
        for id in ids { #expect(member(try await rig.service.end(of: id), "state") == "succeeded") }
        #expect(play.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["1", "1", "2", "3", "4"])
    }

    @Test func `a queue delivers the next message when the callback about the last is delivered`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer(), answer("500 Oops"), answer())
        var ids: [String] = []
        for name in ["1", "2"] {
            let fields = ["Upstash-Retry-Delay": "100", "Upstash-Callback": play.url("told")]
            let answer = try await send("enqueue/telling/\(play.url(name))", fields)
            ids.append(try #require(member(answer.json, "messageId", as: String.self), "\(answer.text)"))
        }
        try await until { play.requests.count == 5 }
        let paths = play.requests.compactMap { $0.line.split(separator: " ")[1].split(separator: "/").last }
        #expect(paths == ["1", "told", "told", "2", "told"])
        for id in ids { #expect(member(try await rig.service.end(of: id), "state") == "succeeded") }
    }

    // MARK: URL groups

    @Test func `the client of PyPI makes, changes and removes URL groups, and a message goes to each URL`() async throws
    {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "qstash-groups")
        let service = rig.service.speaking(with: key)
        let play = rig.stage.play(answer())
        let client = try await run("groups", service.base, key, String(play.url().dropLast()))
        try #require(client.status == 0, "\(client.errors)")
        let told = try #require(try JSONSerialization.jsonObject(with: Data(client.output.utf8)) as? [String: Any])
        for id in member(told, "sent", as: [String].self) ?? [] {
            #expect(member(try await service.end(of: id), "state") == "succeeded")
        }
        let sent = play.requests.filter { !$0.values("x-own").isEmpty }
        #expect(sent.count == 2 && sent.allSatisfy { $0.values("upstash-topic-name") == ["both"] })
        #expect(
            Set(sent.map { $0.line.split(separator: " ")[1].split(separator: "/").last }) == ["first", "second?a=1"])
        // Another tenant has no such group.
        #expect(try await rig.service.request(.get, "/v2/topics/kept").status == 404)
        #expect(try await rig.service.request(.post, "/v2/publish/kept", body: "x").status == 404)
        #expect(try await rig.service.request(.delete, "/v2/topics/kept").status == 200)
        #expect(try await service.request(.get, "/v2/topics/kept").status == 200)
    }

    // MARK: Schedules

    @Test func `the client of PyPI makes, changes, holds and removes schedules`() async throws {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "qstash-schedules")
        let play = rig.stage.play(answer())
        let client = try await run("schedules", rig.service.base, key, String(play.url().dropLast()))
        #expect(client.status == 0, "\(client.errors)")
        #expect(play.requests.isEmpty)
    }

    @Test func `a schedule sends a message that says so, and is one of the service's own`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let made = try await send(
            "schedules/\(play.url("a?b=1"))", ["Upstash-Cron": "0 0 1 1 *", "Upstash-Schedule-Id": "yearly"], body: "hi"
        )
        #expect(made.status == 201 && made.text == #"{"scheduleId":"yearly"}"#, "\(made.text)")
        let all = try await rig.service.request(.get, "/v1/schedules")
        let schedules = member(all.json, "data", as: [[String: Any]].self) ?? []
        let schedule = try #require(
            schedules.first { member($0, "job", "labels", "qstash.schedule") == "yearly" }, "\(all.text)")
        let id = try #require(member(schedule, "id", as: String.self))
        let run = try await rig.service.request(.post, "/v1/schedules/\(id)/run")
        let job = try #require(member(run.json, "id", as: String.self), "\(run.text)")
        #expect(member(try await rig.service.end(of: job), "state") == "succeeded")
        let request = try #require(play.requests.first)
        #expect(request.line.hasPrefix("POST ") && request.line.contains("a?b=1") && request.body == Array("hi".utf8))
        #expect(request.values("upstash-schedule-id") == ["yearly"] && request.values("upstash-message-id") == [job])
        #expect(request.values("upstash-signature").count == 1)
        let message = try await rig.service.request(.get, "/v2/messages/\(job)")
        #expect(member(message.json, "scheduleId") == "yearly", "\(message.text)")
        // One of the service that sends no messages is none here, and is not replaced.
        let other = try await rig.service.request(
            .post, "/v1/schedules", body: #"{"cron": "0 0 1 1 *", "job": {"request": "https://a.example/"}}"#)
        let own = try #require(member(other.json, "id", as: String.self), "\(other.text)")
        #expect(try await rig.service.request(.get, "/v2/schedules/\(own)").status == 404)
        #expect(try await rig.service.request(.delete, "/v2/schedules/\(own)").status == 404)
        let refused = try await send(
            "schedules/https://a.example/", ["Upstash-Cron": "0 0 1 1 *", "Upstash-Schedule-Id": own])
        #expect(refused.status == 400 && refused.text.contains("sends no messages"), "\(refused.text)")
        let stranger = rig.service.speaking(with: try await rig.place.key(tenant: "other"))
        #expect(try await stranger.request(.get, "/v2/schedules/yearly").status == 404)
        #expect(try await stranger.request(.get, "/v2/schedules").text == "[]")
        for path in ["/v1/schedules/\(own)", "/v2/schedules/yearly"] {
            #expect([200, 204].contains(try await rig.service.request(.delete, path).status))
        }
    }

    @Test func `a schedule to a URL group sends a message to each URL that the group has when the time comes`()
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        func add(_ name: String) async throws {
            let answer = try await send(
                "topics/times/endpoints", body: #"{"endpoints": [{"url": "\#(play.url(name))", "name": "\#(name)"}]}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        try await add("first")
        let fields = ["Upstash-Cron": "0 0 1 1 *", "Upstash-Callback": play.url("told")]
        let made = try await send("schedules/times", fields, body: "hi")
        let id = try #require(member(made.json, "scheduleId", as: String.self), "\(made.text)")
        try await add("second")
        // Cron knows no seconds.
        let sooner = try await rig.service.request(
            .patch, "/v1/schedules/\(id)", body: #"{"cron": null, "timeZone": null, "interval": 1}"#)
        #expect(sooner.status == 200, "\(sooner.text)")
        try await until { play.requests.count { $0.line.contains("/told") } >= 2 }
        #expect(try await rig.service.request(.delete, "/v2/schedules/\(id)").status == 200)
        let sent = play.requests.filter { !$0.line.contains("/told") }
        for name in ["first", "second"] {
            let request = try #require(sent.first { $0.line.contains("/\(name) ") })
            #expect(request.body == Array("hi".utf8) && request.values("upstash-topic-name") == ["times"])
            #expect(request.values("upstash-schedule-id") == [id])
            let message = try #require(request.values("upstash-message-id").first)
            let shown = try await rig.service.request(.get, "/v2/messages/\(message)")
            #expect(member(shown.json, "endpointName") == name, "\(shown.text)")
            let log = try await rig.service.request(.get, "/v2/logs?url=\(play.url(name))")
            #expect(log.text.contains(message), "\(log.text)")
        }
        let told = try play.requests.filter { $0.line.contains("/told") }.map { try content(of: $0.body) }
        let names = told.compactMap { member($0, "endpointName", as: String.self) }
        #expect(Set(names) == ["first", "second"] && told.allSatisfy { member($0, "topicName") == "times" }, "\(told)")
    }

    @Test func `of clients that make and remove one schedule at the same time, none meets an error`() async throws {
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<24 {
                group.addTask {
                    guard number % 4 < 3 else {
                        return try await SharedService.current.service.request(.delete, "/v2/schedules/raced").status
                    }
                    let fields = ["Upstash-Cron": "0 0 1 \(number % 12 + 1) *", "Upstash-Schedule-Id": "raced"]
                    return try await send("schedules/https://a.example/", fields).status
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses.isSubset(of: [200, 201, 404]) && statuses.contains(201), "\(statuses)")
    }

    // MARK: Callbacks

    @Test func `a callback follows each attempt, and one for the failure the end, as the client of PyPI asks`()
        async throws
    {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "qstash-callbacks")
        let service = rig.service.speaking(with: key)
        let play = rig.stage.play(answer("500 Oops", "X-Why: a", "X-Why: b", body: "went"))
        let hooks = rig.stage.play(answer("503 Busy"), answer())
        let client = try await run(
            "callbacks", service.base, key, String(play.url().dropLast()), String(hooks.url().dropLast()))
        try #require(client.status == 0, "\(client.errors)")
        let told = try #require(try JSONSerialization.jsonObject(with: Data(client.output.utf8)) as? [String: Any])
        let sent = try #require(member(told, "sent", as: String.self))
        // The first one is tried again.
        try await until { hooks.requests.count == 4 }
        #expect(play.requests.count == 2)
        let callbacks = try await service.request(.get, "/v1/jobs?label=callbackOf:\(sent)")
        let jobs = member(callbacks.json, "data", as: [[String: Any]].self) ?? []
        #expect(jobs.count == 3, "\(callbacks.text)")
        for job in jobs {
            let id = try #require(member(job, "id", as: String.self))
            #expect(member(try await service.end(of: id), "state") == "succeeded")
        }
        let contents = try hooks.requests.map { (request: $0, json: try content(of: $0.body)) }
        let ends = contents.filter { $0.request.line.contains("/end?b=1") }
        let each = contents.filter { $0.request.line.contains("/each") }
        #expect(ends.count + each.count == 4 && each.count >= 2)
        #expect(Set(each.map { member($0.json, "retried", as: Int.self) }) == [0, 1])
        for (request, json) in contents {
            #expect(member(json, "status") == 500 && member(json, "sourceMessageId") == sent, "\(json)")
            #expect(member(json, "header", "X-Why") == ["a", "b"] && member(json, "maxRetries") == 1)
            #expect(member(json, "body") == "d2VudA==" && member(json, "sourceBody") == "YXNrZWQ=")
            #expect(member(json, "sourceHeader", "X-Own") == ["1"] && member(json, "callerIP") == "127.0.0.1")
            #expect(member(json, "url") == play.url("?a=1").replacing("/?", with: "?"), "\(json)")
            let text = String(decoding: request.body, as: UTF8.self)
            #expect(!text.contains("eDp5") && !text.contains(key))
            #expect(
                request.values("upstash-signature").count == 1 && request.values("content-type") == ["application/json"]
            )
            #expect(request.values("upstash-message-id") != [sent])
        }
        let first = try #require(each.first?.request)
        #expect(first.line.hasPrefix("PUT ") && first.values("x-told") == ["yes"] && first.values("x-more") == ["2"])
        let end = try #require(ends.first)
        #expect(end.request.line.hasPrefix("POST ") && end.request.values("authorization") == ["Bearer hook"])
        #expect(member(end.json, "dlqId") == sent)
        let log = try await service.request(.get, "/v2/logs?messageId=\(sent)")
        let entries = member(log.json, "logs", as: [[String: Any]].self) ?? []
        #expect(
            entries.compactMap { member($0, "state", as: String.self) }
                == ["FAILED", "ERROR", "ACTIVE", "RETRY", "ERROR", "ACTIVE", "CREATED"], "\(log.text)")
        #expect(entries.map { member($0, "responseStatus", as: Int.self) } == [500, 500, nil, nil, 500, nil, nil])
        let theirs = try await rig.service.request(.get, "/v2/logs?messageId=\(sent)")
        #expect(member(theirs.json, "logs", as: [[String: Any]].self)?.isEmpty == true, "\(theirs.text)")
        // Another tenant finds none of them.
        let stranger = try await rig.service.request(.get, "/v1/jobs?label=callbackOf:\(sent)")
        #expect(member(stranger.json, "data", as: [[String: Any]].self)?.isEmpty == true, "\(stranger.text)")
    }

    @Test func `a success is told too, a cancelled message is not, and the guard keeps callbacks in`() async throws {
        let rig = try SharedService.current
        let (play, hooks) = (rig.stage.play(answer(body: "done")), rig.stage.play(answer()))
        let fields = ["Upstash-Callback": hooks.url("a"), "Upstash-Failure-Callback": hooks.url("b")]
        let id = try await publish(play.url(), fields)
        try await until { hooks.requests.count == 1 }
        let json = try content(of: try #require(hooks.requests.first).body)
        #expect(member(json, "status") == 200 && member(json, "body") == "ZG9uZQ==", "\(json)")
        #expect(member(json, "sourceMessageId") == id)
        let cancelled = try await publish(play.url(), fields.merging(["Upstash-Delay": "1h"]) { first, _ in first })
        #expect(try await rig.service.request(.delete, "/v2/messages/\(cancelled)").status == 202)
        let forbidden = try await publish(
            play.url(), ["Upstash-Callback": "http://10.0.0.1/", "Upstash-Callback-Retries": "0"])
        _ = try await rig.service.end(of: forbidden)
        func callbacks(of id: String) async throws -> [[String: Any]] {
            let list = try await rig.service.request(.get, "/v1/jobs?label=callbackOf:\(id)")
            return member(list.json, "data", as: [[String: Any]].self) ?? []
        }
        #expect(try await callbacks(of: cancelled).isEmpty)
        let callback = try #require(
            try await callbacks(of: forbidden).first.flatMap { member($0, "id", as: String.self) })
        #expect(member(try await rig.service.end(of: callback), "error", "name") == "addressForbidden")
        #expect(hooks.requests.count == 1)
    }

    // MARK: Messages that were given up

    @Test func `the client of PyPI reads and deletes messages that were given up, and one is sent again`() async throws
    {
        let rig = try SharedService.current
        let key = try await rig.place.key(tenant: "qstash-failures")
        let service = rig.service.speaking(with: key)
        let play = rig.stage.play(
            answer("410 Gone", "X-Why: a", "X-Why: b", body: "went"),
            answer("410 Gone", "X-Why: a", "X-Why: b", body: "went"),
            answer("410 Gone", "X-Why: a", "X-Why: b", body: "went"), answer())
        for number in 1...3 {
            let query = "upstash-retries=0" + (number == 2 ? "" : "&upstash-label=odd")
            let sent = try await service.request(.post, "/v2/publish/\(play.url("gone"))?\(query)", body: "x")
            let id = try #require(member(sent.json, "messageId", as: String.self), "\(sent.text)")
            #expect(member(try await service.end(of: id), "state") == "failed")
        }
        let client = try await run("failures", service.base, key, String(play.url().dropLast()))
        try #require(client.status == 0, "\(client.errors)")
        let told = try #require(try JSONSerialization.jsonObject(with: Data(client.output.utf8)) as? [String: Any])
        let left = try #require(member(told, "left", as: String.self))
        // Another tenant's key finds nothing of it.
        #expect(try await rig.service.request(.get, "/v2/dlq/\(left)").status == 404)
        #expect(try await rig.service.request(.post, "/v2/dlq/retry/\(left)").status == 404)
        let retried = try await service.request(.post, "/v2/dlq/retry", body: #"{"dlqIds": ["\#(left)"]}"#)
        #expect(retried.status == 201 && retried.text.contains(left), "\(retried.text)")
        #expect(member(try await service.end(of: left), "state") == "succeeded")
        #expect(try await service.request(.get, "/v2/dlq").text == #"{"messages":[]}"#)
        #expect(try await service.request(.get, "/v2/dlq/\(left)").status == 404)
    }

    @Test func `nothing of another tenant is seen, cancelled or signed alike`() async throws {
        let rig = try SharedService.current
        let id = try await publish("https://a.example/", ["Upstash-Delay": "1h", "Upstash-Deduplication-Id": "same"])
        _ = try await send("enqueue/mine/https://a.example/", ["Upstash-Delay": "1h"])
        let other = rig.service.speaking(with: try await rig.place.key(tenant: "other"))
        #expect(try await other.request(.get, "/v2/messages/\(id)").status == 404)
        #expect(try await other.request(.delete, "/v2/messages/\(id)").status == 404)
        let asked = try await other.request(.delete, "/v2/messages", body: #"{"messageIds": ["\#(id)"]}"#)
        #expect(member(asked.json, "cancelled") == 0, "\(asked.text)")
        #expect(try await other.request(.get, "/v2/queues/mine").status == 404)
        #expect(try await other.request(.get, "/v2/queues").text == "[]")
        let theirs = try await other.request(
            .post, "/v2/publish/https://a.example/?upstash-delay=1h&upstash-deduplication-id=same", body: "x")
        #expect(theirs.status == 201 && member(theirs.json, "messageId") != id, "\(theirs.text)")
        let keys = try await [
            other.request(.get, "/v2/keys").text, rig.service.request(.get, "/v2/keys").text,
        ]
        #expect(keys[0] != keys[1] && !rig.service.logged.contains("sig_"))
        #expect(try await rig.service.request(.delete, "/v2/messages/\(id)").status == 202)
    }

    @Test func `a destination that the guard keeps away from fails, and is never asked`() async throws {
        let rig = try SharedService.current
        let id = try await publish("http://10.0.0.1/", ["Upstash-Retries": "0"])
        let job = try await rig.service.end(of: id)
        #expect(member(job, "state") == "failed" && member(job, "error", "name") == "addressForbidden", "\(job)")
    }
}
