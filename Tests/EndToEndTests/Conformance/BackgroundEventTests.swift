import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The events that clients of background sessions find when they are back: of which sessions, in which order, and that
/// they are all.
@Suite(.timeLimit(.minutes(2))) struct BackgroundEventTests {
    private func makeSession(
        _ hook: String, _ service: ServiceProcess, kind: String = "background"
    ) async throws -> String {
        let identifier = kind == "background" ? #", "identifier": "mine""# : ""
        let answer = try await service.request(
            .post, "/v1/sessions", body: #"{"kind": "\#(kind)"\#(identifier), "webhook": {"endpoint": "\#(hook)"}}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func submit(_ url: String, in session: String, _ service: ServiceProcess) async throws -> String {
        let body = #"{"kind": "download", "session": "\#(session)", "request": "\#(url)"}"#
        let answer = try await service.request(.post, "/v1/jobs", body: body)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func json(_ message: WebhookReceiver.Message) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
    }

    /// The ids of a list, page by page.
    private func ids(_ path: String, limit: Int, _ service: ServiceProcess) async throws -> [String] {
        var (ids, next): ([String], String?) = ([], "\(path)\(path.contains("?") ? "&" : "?")limit=\(limit)")
        while let page = next {
            let answer = try await service.request(.get, page)
            try #require(answer.status == 200, "\(answer.text)")
            let found = try #require(member(answer.json, "data", as: [[String: Any]].self))
            #expect(found.count <= limit)
            ids += found.compactMap { $0["id"] as? String }
            next = answer.headers[HTTPField.Name("Link")!].flatMap {
                $0.split(separator: ">").first.map { String($0.dropFirst()) }
            }
        }
        return ids
    }

    private func acknowledge(_ session: String, _ service: ServiceProcess) async throws -> ServiceProcess.Answer {
        try await service.request(.post, "/v1/sessions/\(session)/acknowledge")
    }

    // Those with a job, and those with an event whose receiver is away, until both are over.
    // Proves: BKG-9.
    @Test func `sessions with outstanding jobs or undelivered events are listed`() async throws {
        let (gate, stage) = (Gate(), try Stage())
        let slow = stage.serve { _, connection in
            try gate.wait()
            try connection.send(answer(body: "x"))
        }
        let play = stage.play(answer(body: "x"))
        let away = try WireOrigin(isOpen: false) { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                try connection.receive(length)
                try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let rules = ["127.0.0.1:\(stage.port)", "127.0.0.1:\(away.port)"]
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let stranger = service.speaking(with: try await place.key(tenant: "other"))
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(away.url("/hook"))"}"#)
            let hook = try #require(member(made.json, "id", as: String.self))
            let background = try await makeSession(hook, service)
            let ended = try await makeSession(hook, service, kind: "default")
            let busy = try await makeSession(hook, service, kind: "default")
            _ = try await makeSession(hook, service, kind: "default")
            let path = "/v1/sessions?outstanding=true"
            #expect(try await ids(path, limit: 100, service).isEmpty)

            let told = try await submit(play.url(), in: background, service)
            let other = try await submit(play.url(), in: ended, service)
            let waiting = try await submit(slow.url(), in: busy, service)
            for id in [told, other] { _ = try await service.job(id) { member($0, "state") == "succeeded" } }
            for limit in [1, 2, 100] {
                #expect(try await ids(path, limit: limit, service) == [busy, ended, background].sorted(by: >))
            }
            #expect(try await ids(path + "&kind=background", limit: 1, service) == [background])
            #expect(try await ids(path + "&identifier=mine", limit: 1, service) == [background])
            #expect(try await ids(path, limit: 100, stranger).isEmpty)
            // The job has ended, and nobody was told.
            let early = try await acknowledge(background, service)
            #expect(early.status == 409 && member(early.json, "code") == "sessionEventsNotFinished", "\(early.text)")

            try away.open()
            try await place.retryDeliveries(2)
            try await until { try await ids(path, limit: 100, service) == [busy] }
            gate.open()
            _ = try await service.job(waiting) { member($0, "state") == "succeeded" }
            try await until { try await ids(path, limit: 100, service).isEmpty }
            #expect(try await service.request(.get, "/v1/sessions?outstanding=maybe").status == 400)
            #expect(try await service.stop() == 0)
        }
    }

    // The same as was sent, by the same ids.
    // Proves: BKG-9.
    @Test func `the events of a session are repeated from any place in the order of their making`() async throws {
        let stage = try Stage()
        let receiver = try WebhookReceiver()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(stage.port)", receiver.rule]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let (hook, _) = try await receiver.endpoint(of: service)
            let session = try await makeSession(hook, service)
            let path = "/v1/sessions/\(session)/events"
            var (sent, order): ([String: [String: Any]], [String]) = ([:], [])
            for round in 1...2 {
                // None ends before the last is there, so that there is one end of the events.
                let gate = Gate()
                let slow = stage.serve { _, connection in
                    try gate.wait()
                    try connection.send(answer(body: "x"))
                }
                var jobs: Set<String> = []
                for name in ["a", "b", "c"] { jobs.insert(try await submit(slow.url(name), in: session, service)) }
                gate.open()
                // A message may come twice.
                while sent.count < round * 4 {
                    let message = try await receiver.next()
                    sent[try #require(message["webhook-id"])] = try json(message)
                }
                // New events come after the earlier ones.
                let events = try await ids(path, limit: 100, service)
                #expect(Array(events.prefix(order.count)) == order && Set(events) == Set(sent.keys))
                let data = try #require(
                    member(try await service.request(.get, path).json, "data", as: [[String: Any]].self))
                let types = data.compactMap { $0["type"] as? String }.suffix(events.count - order.count)
                #expect(types.last == "session.eventsFinished" && types.dropLast().allSatisfy { $0 == "job.finished" })
                #expect(jobs == Set(data.dropFirst(order.count).compactMap { member($0, "data", "job", "id") }))
                order = events
                #expect(order.count == round * 4)
                for event in data where event["type"] as? String == "job.finished" {
                    var message = event
                    let id = try #require(message.removeValue(forKey: "id") as? String)
                    #expect(NSDictionary(dictionary: message) == NSDictionary(dictionary: try #require(sent[id])))
                }
            }
            // By another process, from anywhere.
            #expect(try await service.stop() == 0)
            let again = try await ServiceProcess.start(place, key: key)
            for (index, id) in order.enumerated() {
                for limit in [1, 3, 100] {
                    #expect(
                        try await ids("\(path)?after=\(id)", limit: limit, again) == Array(order.dropFirst(index + 1)))
                }
            }
            #expect(try await ids(path, limit: 2, again) == order)
            let unknown = try await again.request(.get, "\(path)?after=\(WebhookDelivery.ID())")
            #expect(unknown.status == 400 && member(unknown.json, "errors", "0", "parameter") == "after")
            let stranger = again.speaking(with: try await place.key(tenant: "other"))
            #expect(try await stranger.request(.get, path).status == 404)
            #expect(try await again.stop() == 0)
        }
    }

    // For any client and node: one of ten is the first.
    // Proves: BKG-10, BKG-11.
    @Test func `the end of the events is acknowledged once, and new jobs bring a new one`() async throws {
        let stage = try Stage()
        let receiver = try WebhookReceiver()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(stage.port)", receiver.rule]) { place in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            let service = nodes[0]
            let stranger = service.speaking(with: try await place.key(tenant: "other"))
            let (hook, _) = try await receiver.endpoint(of: service)
            let session = try await makeSession(hook, service)
            func refusal() async throws -> String? {
                let answer = try await acknowledge(session, service)
                return answer.status == 409 ? member(answer.json, "code") : answer.text
            }
            #expect(try await refusal() == "sessionEventsNotFinished")
            for _ in 1...2 {
                let gate = Gate()
                let slow = stage.serve { _, connection in
                    try gate.wait()
                    try connection.send(answer(body: "x"))
                }
                _ = try await submit(slow.url(), in: session, service)
                try await until { slow.requests.count == 1 }
                #expect(try await refusal() == "sessionEventsNotFinished")
                gate.open()
                #expect(member(try json(await receiver.next()), "type") == "job.finished")
                let finished = try json(await receiver.next())
                #expect(member(finished, "type") == "session.eventsFinished")
                let end: String = try #require(member(finished, "data", "session", "eventsFinishedAt"))
                #expect(member(finished, "data", "session", "eventsAcknowledgedAt", as: String.self) == nil)
                #expect(try await acknowledge(session, stranger).status == 404)

                let answers = try await withThrowingTaskGroup(of: ServiceProcess.Answer.self) { group in
                    for index in 0..<10 { group.addTask { try await acknowledge(session, nodes[index % 2]) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.map(\.status).sorted() == [200] + Array(repeating: 409, count: 9))
                #expect(try await refusal() == "sessionEventsAcknowledged")
                let read = try await service.request(.get, "/v1/sessions/\(session)").json
                #expect(member(read, "eventsFinishedAt") == end)
                let taken = answers.first { $0.status == 200 }?.json ?? [:]
                let time: String = try #require(member(taken, "eventsAcknowledgedAt"))
                #expect(member(read, "eventsAcknowledgedAt") == time && time >= end)
            }
            for (path, status) in [(try await makeSession(hook, service, kind: "default"), 409), ("default", 404)] {
                #expect(try await acknowledge(path, service).status == status)
            }
            for node in nodes { #expect(try await node.stop() == 0) }
        }
    }
}
