import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The requests of QStash on the routes alone, without deliveries.
@Suite struct QStashRoutesTests {
    private func fields(_ fields: KeyValuePairs<String, String>) throws -> HTTPFields {
        var all = HTTPFields()
        for (name, value) in fields { all.append(HTTPField(name: try #require(.init(name)), value: value)) }
        return all
    }

    @Test(arguments: [
        ("https://a.example/b?c=%20&d=+", "https://a.example/b?c=%20&d=+"),
        ("http:/a.example/b", "http://a.example/b"), ("https:/a.example//b//", "https://a.example//b//"),
        ("https%3A%2F%2Fa.example%2Fb", "https://a.example/b"), ("HTTP://A.example", "http://a.example/"),
        ("https://a.example/?x=1&upstash-delay=1h&qstash_token=t&y", "https://a.example/?x=1&y"),
        ("https://a.example/?upstash-method=PUT", "https://a.example/"),
    ])
    func `a destination is the rest of the path and what of the query is not for the service`(
        _ written: String, _ url: String
    ) async throws {
        try await TestServer().test { call in
            let answer = try await call(.post, "/v2/publish/\(written)", body: "x")
            #expect(answer.status == .created, "\(answer.text)")
            let id = try #require(answer.json?["messageId"]?.string)
            #expect(try await call(.get, "/v2/messages/\(id)").json?["url"]?.string == url)
        }
    }

    @Test(arguments: [
        ("https://a.example/", ["Upstash-Retries": "100"], "Upstash-Retries"),
        ("https://a.example/", ["Upstash-Retry-Delay": "pow(1)"], "Upstash-Retry-Delay"),
        ("https://a.example/", ["Upstash-Delay": "soon"], "Upstash-Delay"),
        ("https://a.example/", ["Upstash-Not-Before": "-1"], "Upstash-Not-Before"),
        ("https://a.example/", ["Upstash-Timeout": "1x"], "Upstash-Timeout"),
        ("https://a.example/", ["Upstash-Flow-Control-Key": "k"], "needs a parallelism or a rate"),
        ("https://a.example/", ["Upstash-Flow-Control-Value": "rate=1"], "needs Upstash-Flow-Control-Key"),
        (
            "https://a.example/", ["Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "rate=0"],
            "/rate/jobs"
        ),
        (
            "https://a.example/",
            ["Upstash-Queue-Name": "q", "Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "rate=1"],
            "is not mapped"
        ),
        ("https://a.example/", ["Upstash-Queue-Name": "a/b"], "name of a queue"),
        ("https://a.example/", ["Upstash-Method": "CONNECT"], "/request/method"),
        ("https://a.example/", ["Upstash-Forward-Host": "b.example"], "headerForbidden"),
        ("https://a.example/", ["Upstash-Callback": "ftp://b.example/"], "the name of a URL group"),
        ("https://a.example/", ["Upstash-Callback": "group"], "A callback to a URL group is not built"),
        ("https://a.example/", ["Upstash-Callback-Retries": "1"], "need Upstash-Callback"),
        (
            "https://a.example/",
            ["Upstash-Failure-Callback": "https://b.example/", "Upstash-Failure-Callback-Retries": "many"],
            "Upstash-Failure-Callback-Retries must be a whole number"
        ),
        (
            "https://a.example/", ["Upstash-Callback": "https://b.example/", "Upstash-Callback-Delay": "1h"],
            "Upstash-Callback-Delay is not built"
        ),
        (
            "https://a.example/", ["Upstash-Callback": "https://b.example/", "Upstash-Callback-Forward-Host": "x"],
            "/callbacks/attempt/headers"
        ),
        ("https://a.example/", ["Upstash-Redact-Fields": ""], "Upstash-Redact-Fields must name 1 to 100 parts"),
        ("https://a.example/", ["Upstash-Redact-Fields": "body, query"], "Upstash-Redact-Fields knows body"),
        ("https://a.example/", ["Upstash-Redact-Fields": "header[a b]"], "Upstash-Redact-Fields knows body"),
        (
            "https://a.example/",
            ["Upstash-Callback": "https://b.example/", "Upstash-Callback-Redact-Fields": "body"],
            "Upstash-Callback-Redact-Fields is not built"
        ),
        ("https://a.example/", ["Upstash-Cron": "* * * * *"], "Upstash-Cron is for POST /v2/schedules"),
        ("api/llm", [:], "is not mapped"),
        ("ftp://a.example/", [:], "the name of a URL group"), ("https://a.example:99999/", [:], "/request/url"),
        ("https://user@/", [:], "/request/url"),
    ])
    func `what breaks a rule or is not built is refused by an error that says so, and nothing is stored`(
        _ destination: String, _ headers: [String: String], _ words: String
    ) async throws {
        let server = try await TestServer()
        try await server.test { call in
            var all = HTTPFields()
            for (name, value) in headers { all[try #require(HTTPField.Name(name))] = value }
            let answer = try await call(.post, "/v2/publish/\(destination)", headers: all, body: "x")
            #expect(answer.status == .badRequest)
            #expect(answer.json?["error"]?.string?.contains(words) == true, "\(answer.text)")
            #expect(answer.headers[.contentType] == "application/json")
            #expect(try await call(.get, "/v1/jobs").json?["data"]?.count == 0)
            #expect(try await call(.get, "/v2/queues").text == "[]")
        }
    }

    @Test(arguments: [("body, header[x-own]", ["X-Own"]), ("body,headers", ["Content-Type", "X-Own", "X-Other"])])
    func `what a message has redacted is shown as its digest, here and in v1`(
        parts: String, hidden: [String]
    ) async throws {
        try await TestServer().test { call in
            let fields = ["Content-Type": "text/plain", "X-Own": "own canary", "X-Other": "other canary"]
            var headers: HTTPFields = [.contentType: "text/plain"]
            for (name, value) in fields where name.hasPrefix("X-") {
                headers[try #require(HTTPField.Name("Upstash-Forward-\(name)"))] = value
            }
            headers[try #require(HTTPField.Name("Upstash-Redact-Fields"))] = parts
            let answer = try await call(
                .post, "/v2/publish/https://a.example/?upstash-delay=1h", headers: headers, body: "body canary")
            let id = try #require(answer.json?["messageId"]?.string, "\(answer.text)")
            func digest(_ text: String) -> String {
                "REDACTED:\(SHA256Digest(of: Array(text.utf8)).hexadecimal(32))"
            }
            let message = try await call(.get, "/v2/messages/\(id)")
            #expect(message.json?["body"]?.string == digest("body canary"))
            for (name, value) in fields {
                let shown = hidden.contains(name) ? digest(value) : value
                #expect(message.json?["header"]?[name]?[0]?.string == shown, "\(message.text)")
            }
            #expect(message.json?["header"]?["User-Agent"] == nil)
            let job = try await call(.get, "/v1/jobs/\(id)")
            #expect(job.json?["request"]?["body"]?["text"]?.string == digest("body canary"))
            for text in [job.text, message.text] {
                #expect(!text.contains("own canary") && !text.contains("body canary"))
            }
        }
    }

    @Test func `a message to a URL group goes to each of its URLs, and to none when one refuses it`() async throws {
        try await TestServer().test { call in
            let missing = try await call(.post, "/v2/publish/pair", body: "x")
            #expect(missing.status == .notFound, "\(missing.text)")
            let two = #"{"endpoints": [{"url": "https://a.example/", "name": "first"}, {"url": "https://b.example/"}]}"#
            #expect(try await call(.post, "/v2/topics/pair/endpoints", body: two).status == .ok)
            let uri = "/v2/publish/pair?upstash-delay=1h&upstash-deduplication-id=d&upstash-callback=https://c.example/"
            let answer = try await call(.post, uri, body: "x")
            #expect(answer.status == .created && answer.json?.count == 2, "\(answer.text)")
            let again = try await call(.post, uri, body: "x")
            #expect(again.status == .accepted, "\(again.text)")
            #expect(again.json?[0]?["messageId"]?.string == answer.json?[0]?["messageId"]?.string)
            let id = try #require(answer.json?[0]?["messageId"]?.string)
            let message = try await call(.get, "/v2/messages/\(id)").json
            #expect(message?["url"]?.string == "https://a.example/" && message?["topicName"]?.string == "pair")
            #expect(message?["endpointName"]?.string == "first" && message?["header"]?["Upstash-Topic-Name"] == nil)
            let job = try await call(.get, "/v1/jobs/\(id)").json
            #expect(job?["callbacks"]?["attempt"]?["content"]?["topicName"]?.string == "pair")
            let batch = #"[{"destination": "https://d.example/", "body": "x"}, {"destination": "pair", "body": "x"}]"#
            let answers = try await call(.post, "/v2/batch", body: batch).json
            #expect(
                answers?.count == 2 && answers?[1]?.count == 2
                    && answers?[1]?[1]?["url"]?.string == "https://b.example/")
            let refused = try await call(.post, "/v2/publish/pair?upstash-forward-host=x", body: "x")
            #expect(refused.status == .badRequest, "\(refused.text)")
            #expect(try await call(.get, "/v1/jobs").json?["data"]?.count == 5)
            let found = try await call(.delete, "/v2/messages", body: #"{"topicName": "pair"}"#)
            #expect(found.json?["cancelled"]?.integer == 4, "\(found.text)")
        }
    }

    @Test func `a schedule to a URL group is one of the service's that names the group, which has to be there`()
        async throws
    {
        try await TestServer().test { call in
            let cron = try fields(["Upstash-Cron": "0 0 1 1 *", "Upstash-Schedule-Id": "both"])
            let missing = try await call(.post, "/v2/schedules/pair", headers: cron, body: "x")
            #expect(missing.status == .badRequest && missing.text.contains("/urlGroup is not a URL group of yours"))
            let two = #"{"endpoints": [{"url": "https://a.example/", "name": "first"}, {"url": "https://b.example/"}]}"#
            #expect(try await call(.post, "/v2/topics/pair/endpoints", body: two).status == .ok)
            let made = try await call(.post, "/v2/schedules/pair", headers: cron, body: "x")
            #expect(made.status == .created, "\(made.text)")
            #expect(try await call(.get, "/v2/schedules/both").json?["destination"]?.string == "pair")
            let schedule = try await call(.get, "/v1/schedules").json?["data"]?[0]
            #expect(schedule?["urlGroup"]?.string == "pair")
            let id = try #require(schedule?["id"]?.string)
            let run = try await call(.post, "/v1/schedules/\(id)/run")
            #expect(run.status == .conflict && run.text.contains("/urlGroup makes several jobs"), "\(run.text)")
            let large = try await call(
                .post, "/v2/schedules/pair", headers: cron, body: String(repeating: "x", count: 140_000))
            #expect(large.status == .badRequest && large.text.contains("/job has more than"), "\(large.text)")
        }
    }

    @Test(arguments: [
        ("[]", "must be an object"), ("{}", "/endpoints"), (#"{"endpoints": [{}]}"#, "/endpoints/0/url"),
        (#"{"endpoints": [{"url": "ftp://a.example/"}]}"#, "/endpoints/0/url"),
        (#"{"endpoints": [{"url": "https://u:p@a.example/"}]}"#, "/endpoints/0/url"),
        (#"{"endpoints": [{"url": "https://a.example/", "weight": 1}]}"#, "/endpoints/0/weight"),
    ])
    func `endpoints that are none are refused, and so is a name that is none`(
        _ body: String, _ words: String
    ) async throws {
        try await TestServer().test { call in
            let answer = try await call(.post, "/v2/topics/g/endpoints", body: body)
            #expect(answer.status == .badRequest && answer.text.contains(words), "\(answer.text)")
            let name = try await call(.post, "/v2/topics/a%20b/endpoints", body: #"{"endpoints": []}"#)
            #expect(name.status == .badRequest, "\(name.text)")
            #expect(try await call(.get, "/v2/topics").text == "[]")
        }
    }

    @Test func `a flow control key is what messages have set, and can be paused`() async throws {
        try await TestServer().test { call in
            #expect(try await call(.get, "/v2/flowControl/k").status == .notFound)
            #expect(try await call(.post, "/v2/flowControl/k/pause").status == .notFound)
            let flow = try fields(["Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "rate=5, period=1m"])
            #expect(
                try await call(.post, "/v2/publish/https://a.example/", headers: flow, body: "x").status == .created)
            #expect(try await call(.post, "/v2/flowControl/k/pause").status == .ok)
            let key = try await call(.get, "/v2/flowControl/k").json
            #expect(key?["flowControlKey"]?.string == "k" && key?["rateMax"]?.integer == 5)
            #expect(key?["ratePeriod"]?.integer == 60 && key?["parallelismMax"]?.integer == 0)
            #expect(key?["isPaused"]?.bool == true && key?["isPinnedRate"]?.bool == false)
            #expect(try await call(.post, "/v2/flowControl/k/resume").status == .ok)
            let all = try await call(.get, "/v2/flowControl").json
            #expect(all?.count == 1 && all?[0]?["isPaused"]?.bool == false)
            let long = String(repeating: "k", count: 300)
            #expect(try await call(.get, "/v2/flowControl/\(long)").status == .badRequest)
            #expect(try await call(.get, "/v2/globalParallelism").json?["parallelismMax"]?.integer == 0)
        }
    }

    @Test func `what is pinned of a flow control key is changed by no message until it is unpinned`() async throws {
        try await TestServer().test { call in
            func publish(_ limits: String) async throws {
                let flow = try fields(["Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": limits])
                let answer = try await call(.post, "/v2/publish/https://a.example/", headers: flow, body: "x")
                #expect(answer.status == .created, "\(answer.text)")
            }
            func limits() async throws -> [Int64?] {
                let key = try await call(.get, "/v2/flowControl/k").json
                return ["parallelismMax", "rateMax", "ratePeriod"].map { key?[$0]?.integer }
            }
            #expect(try await call(.post, "/v2/flowControl/k/unpin?rate=true").status == .notFound)
            #expect(try await call(.post, "/v2/flowControl/k/pin?rate=7&period=60").status == .ok)
            try await publish("parallelism=3, rate=5")
            #expect(try await limits() == [3, 7, 60])
            let flow = try await call(.get, "/v1/flows/qstash.key.k").json
            #expect(flow?["pinned"]?.count == 1 && flow?["pinned"]?[0]?.string == "rate")
            #expect(try await call(.post, "/v2/flowControl/k/pin?parallelism=9").status == .ok)
            try await publish("parallelism=4")
            #expect(try await limits() == [9, 7, 60])
            #expect(try await call(.post, "/v2/flowControl/k/unpin?parallelism=true&rate=true").status == .ok)
            #expect(try await limits() == [9, 7, 60])
            try await publish("parallelism=2, rate=6")
            #expect(try await limits() == [2, 6, 1])
            #expect(try await call(.post, "/v2/flowControl/k/resetRate").status == .ok)
        }
    }

    @Test(arguments: [
        ("pin", "One of the parameters"), ("pin?period=5", "period"), ("pin?parallelism=0", "parallelism"),
        ("pin?rate=10001", "rate"), ("pin?period=604801&rate=1", "period"), ("pin?burst=1", "burst"),
        ("unpin", "One of the parameters"), ("unpin?rate=yes", "rate"),
    ])
    func `a pin that breaks a rule is refused, and changes nothing`(action: String, words: String) async throws {
        try await TestServer().test { call in
            #expect(try await call(.post, "/v2/flowControl/k/pin?rate=7").status == .ok)
            let answer = try await call(.post, "/v2/flowControl/k/\(action)")
            #expect(answer.status == .badRequest && answer.text.contains(words), "\(answer.text)")
            let key = try await call(.get, "/v2/flowControl/k").json
            #expect(key?["rateMax"]?.integer == 7 && key?["isPinnedRate"]?.bool == true)
        }
    }

    @Test func `logs tell the newest message first, page by page, and nothing of jobs that are no messages`()
        async throws
    {
        let server = try await TestServer()
        _ = try await server.queueJob()
        try await server.test { call in
            var ids: [String] = []
            for number in 1...3 {
                let uri = "/v2/publish/https://a.example/\(number)?upstash-delay=1h&upstash-label=l\(number)"
                ids.append(try #require(try await call(.post, uri, body: "x").json?["messageId"]?.string))
            }
            #expect(try await call(.delete, "/v2/messages/\(ids[1])").status == .accepted)
            func entries(_ query: String, _ name: String = "logs") async throws -> [String] {
                let answer = try await call(.get, "/v2/\(name)?\(query)").json
                return (0..<(answer?[name]?.count ?? 0)).map { index in
                    let entry = answer?[name]?[index]
                    let place = ids.firstIndex(of: entry?["messageId"]?.string ?? "").map { "\($0)" } ?? "?"
                    return "\(place) \(entry?["state"]?.string ?? "?")"
                }
            }
            let all = ["2 CREATED", "1 CANCELED", "1 CREATED", "0 CREATED"]
            #expect(try await entries("") == all)
            #expect(try await entries("", "events") == all)
            #expect(try await entries("state=CREATED") == ["2 CREATED", "1 CREATED", "0 CREATED"])
            #expect(try await entries("label=l2") == ["1 CANCELED", "1 CREATED"])
            #expect(try await entries("url=https://a.example/1") == ["0 CREATED"])
            #expect(try await entries("messageIds=\(ids[0]),\(ids[2]),nonsense") == ["2 CREATED", "0 CREATED"])
            #expect(try await entries("toDate=1") == [])
            #expect(try await entries("fromDate=1") == all)
            for count in 1...4 {
                var (found, cursor) = ([String](), "")
                repeat {
                    let query = "count=\(count)&cursor=\(cursor)"
                    found += try await entries(query)
                    cursor = try await call(.get, "/v2/logs?\(query)").json?["cursor"]?.string ?? ""
                } while !cursor.isEmpty
                #expect(found == all, "\(count)")
            }
            for query in [
                "count=0", "count=1001", "cursor=x", "cursor=\(ids[0])", "state=GONE", "fromDate=-1", "colour=red",
                "messageIds=" + Array(repeating: "a", count: 101).joined(separator: ","),
            ] {
                #expect(try await call(.get, "/v2/logs?\(query)").status == .badRequest, "\(query)")
            }
        }
    }

    @Test(arguments: ["stats"])
    func `a part of QStash that is not built says so`(_ path: String) async throws {
        try await TestServer().test { call in
            let answer = try await call(.get, "/v2/\(path)")
            #expect(answer.status == .badRequest && answer.json?["error"]?.string?.hasSuffix("is not built") == true)
            #expect(try await call(.get, "/v2/nothing").status == .notFound)
        }
    }

    @Test func `a key may stand in the query, and every refusal has the form of QStash`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let anonymous = call.with("")
            let refused = try await anonymous(.post, "/v2/publish/https://a.example/", body: "x")
            #expect(refused.status == .unauthorized && refused.json?["error"]?.string != nil, "\(refused.text)")
            let uri = "/v2/publish/https://a.example/?qstash_token=\(server.token.revealed)"
            let taken = try await anonymous(.post, uri, body: "x")
            #expect(taken.status == .created, "\(taken.text)")
            let id = try #require(taken.json?["messageId"]?.string)
            let stored = try await call(.get, "/v1/jobs/\(id)").text
            #expect(!stored.contains(server.token.revealed) && !stored.contains("qstash_token"))
            // Nowhere else does a key stand in a query.
            #expect(try await anonymous(.get, "/v1/jobs?qstash_token=\(server.token.revealed)").status == .unauthorized)
            #expect(try await call(.put, "/v2/messages").json?["error"]?.string != nil)
        }
    }

    @Test func `a client's fields are forwarded as it says, and never its key`() async throws {
        try await TestServer().test { call in
            let headers = try fields([
                "Upstash-Header-Forward": "true", "X-Plain": "1", "Cookie": "a=b", "Upstash-Forward-X-Twice": "1",
                "Content-Type": "text/csv",
                "Upstash-Forward-Authorization": "Basic eDp5",
            ])
            let answer = try await call(
                .post, "/v2/publish/https://a.example/?upstash-retries=7&upstash-forward-x-twice=2", headers: headers,
                body: "a,b")
            let id = try #require(answer.json?["messageId"]?.string, "\(answer.text)")
            let message = try await call(.get, "/v2/messages/\(id)")
            let sent = message.json?["header"]
            #expect(sent?["X-Plain"]?[0]?.string == "1" && sent?["X-Twice"]?.count == 2, "\(message.text)")
            #expect(sent?["Content-Type"]?[0]?.string == "text/csv" && sent?["Cookie"] == nil)
            // That of the destination is a secret; that of the service goes nowhere.
            #expect(!message.text.contains("Bearer") && !message.text.contains("eDp5"))
            #expect(message.json?["maxRetries"]?.integer == 7 && message.json?["body"]?.string == "a,b")
        }
    }

    @Test func `a batch is stored as a whole or not at all`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let good =
                #"{"destination": "https://a.example/", "headers": {"Upstash-Delay": "1h"}, "body": "1", "queue": null}"#
            let bad = #"{"destination": "https://a.example/", "headers": {"Upstash-Delay": "x"}}"#
            let refused = try await call(.post, "/v2/batch", body: "[\(good), \(bad)]")
            #expect(refused.status == .badRequest, "\(refused.text)")
            #expect(refused.json?["error"]?.string?.hasPrefix("Message 1: Upstash-Delay") == true)
            // Values are compared, as those of fields are.
            let marks = String(repeating: "\u{315}", count: 31)
            for value in [#""\#(marks)""#, #"["true", "\#(marks)"]"#] {
                let slow = #"{"destination": "https://a.example/", "headers": {"Upstash-Header-Forward": \#(value)}}"#
                let answer = try await call(.post, "/v2/batch", body: "[\(good), \(slow)]")
                #expect(answer.status == .badRequest, "\(answer.text)")
                #expect(answer.json?["error"]?.string?.hasSuffix("more than 30 combining marks in a row") == true)
            }
            #expect(try await call(.get, "/v1/jobs").json?["data"]?.count == 0)
            let list = Array(repeating: good, count: 1001).joined(separator: ",")
            #expect(try await call(.post, "/v2/batch", body: "[\(list)]").json?.count == 1001)
            let many = Array(repeating: "0", count: QStashMessageRoutes.maximumBatch + 1).joined(separator: ",")
            #expect(try await call(.post, "/v2/batch", body: "[\(many)]").status == .badRequest)
            #expect(try await call(.delete, "/v2/messages?count=3").json?["cancelled"]?.integer == 3)
            #expect(try await call(.delete, "/v2/messages").json?["cancelled"]?.integer == 998)
        }
    }

    @Test func `messages are cancelled by a filter, and jobs that are none stay`() async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        try await server.test { call in
            func publish(_ url: String, _ label: String) async throws -> String {
                let headers = try fields(["Upstash-Delay": "1h", "Upstash-Label": label])
                let answer = try await call(.post, "/v2/publish/\(url)", headers: headers, body: "x")
                return try #require(answer.json?["messageId"]?.string)
            }
            _ = try await publish("https://a.example/1", "red,blue")
            _ = try await publish("https://a.example/2", "blue")
            let last = try await publish("https://a.example/3", "")
            func cancelled(_ body: String) async throws -> Int64? {
                try await call(.delete, "/v2/messages", body: body).json?["cancelled"]?.integer
            }
            #expect(try await cancelled(#"{"label": "red"}"#) == 1)
            #expect(try await cancelled(#"{"url": "https://a.example/2"}"#) == 1)
            #expect(try await cancelled(#"{"messageIds": ["\#(last)", "\#(job)", "nonsense"]}"#) == 1)
            #expect(try await cancelled("{}") == 0)
            #expect(try await call(.delete, "/v2/messages", body: #"{"colour": 1}"#).status == .badRequest)
            #expect(try await call(.get, "/v1/jobs/\(job)").json?["state"]?.string == "queued")
            #expect(try await call(.get, "/v2/messages/\(job)").status == .notFound)
            #expect(try await call(.delete, "/v2/messages/\(job)").status == .notFound)
        }
    }

    @Test func `a key that may not set limits neither makes a queue nor changes a flow, and uses those there are`()
        async throws
    {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "writer", tenant: "test", scopes: [.writeJobs])
        try await server.test { call in
            let writer = call.with("Bearer \(token.revealed)")
            let uri = "/v2/enqueue/emails/https://a.example/"
            #expect(try await writer(.post, uri, body: "x").status == .forbidden)
            #expect(try await call(.get, "/v1/jobs").json?["data"]?.count == 0)
            #expect(try await call(.post, "/v2/queues", body: #"{"queueName": "emails"}"#).status == .ok)
            #expect(try await writer(.post, uri, body: "x").status == .created)
            let flow = try fields(["Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "rate=5, period=7d"])
            let publish = "/v2/publish/https://a.example/"
            #expect(try await writer(.post, publish, headers: flow, body: "x").status == .forbidden)
            #expect(try await call(.post, publish, headers: flow, body: "x").status == .created)
            #expect(try await writer(.post, publish, headers: flow, body: "x").status == .created)
            let limits = try await call(.get, "/v1/flows/qstash.key.k").json?["rate"]
            #expect(limits?["jobs"]?.integer == 5 && limits?["period"]?.integer == 604_800)
            #expect(try await writer(.get, "/v2/keys").status == .forbidden)
        }
    }
}
