import FetchEngine
import FetchdClient
import HTTPTypes
import TestSupport
import Testing

/// The Swift client over a running service.
@Suite(.timeLimit(.minutes(2))) struct SwiftClientTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"

    @Test func `a job is submitted, waited for and read`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let jobs = service.client.jobs
            var request = try Request(origin.url("/a"))
            request.method = .post
            request.headerFields[.accept] = "text/plain"
            request.body = .bytes(Array("question".utf8))
            var options = JobOptions()
            options.labels = ["customer": "42"]
            options.configuration = ["timeouts": ["connect": 5]]
            let job = try await jobs.submit(request, options: options, wait: .seconds(30))
            #expect(job.state == .succeeded && job.response?.status == .ok && job.response?.mimeType == "text/plain")
            #expect(job.labels == ["customer": "42"] && job.request?.method == .post)
            #expect(job.metrics.transactions.count == 1 && job.metrics.transactions.first?.status == 200)
            #expect(try await jobs.data(job.id) == Array("hello".utf8))
            #expect(try await jobs.result(job.id).id == job.id)
            #expect(origin.received().hasSuffix("\r\n\r\nquestion"))
            var found: [String] = []
            for try await summary in jobs.list(label: "customer:42") { found.append(summary.id) }
            #expect(found == [job.id])
            var events: [String] = []
            for try await event in jobs.events(job.id) { events.append(event.type) }
            #expect(events == ["job.finished"])
        }
    }

    @Test func `a list goes over more jobs than a page has`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let jobs = service.client.jobs
            var made: Set<String> = []
            for _ in 0..<120 { made.insert(try await jobs.submit(Request("data:,x")).id) }
            var seen: [String] = []
            for try await job in jobs.list() { seen.append(job.id) }
            #expect(seen.count == 120 && Set(seen) == made)
        }
    }

    @Test func `a job that was stopped tells why, and can run again`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try gate.wait()
                try connection.send(Self.ok)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let jobs = service.client.jobs
            let id = try await jobs.submit(Request(origin.url())).id
            try await until { origin.received().contains("GET /") }
            try await jobs.cancel(id)
            let error = await #expect(throws: FetchdError.self) { _ = try await jobs.result(id) }
            #expect(error?.code == .jobFailed && error?.underlying?.code == .cancelled)
            gate.open()
            try await jobs.retry(id)
            #expect(try await jobs.result(id, timeout: .seconds(30)).state == .succeeded)
            let unknown = await #expect(throws: FetchdError.self) { _ = try await jobs.get("job_unknown") }
            #expect(unknown?.code == .notFound && unknown?.requestID != nil)
        }
    }

    @Test func `a load asks, and the client answers`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /first ")
                        ? "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.ok)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let client = service.client
            var options = JobOptions()
            options.configuration = ["delegate": ["via": "api", "questions": ["willPerformHTTPRedirection"]]]
            let id = try await client.jobs.submit(Request(origin.url("/first")), options: options).id
            for try await event in client.jobs.events(id) where event.type == "job.question" {
                for try await question in client.questions.list(state: .open, job: id) {
                    #expect(question.kind == .willPerformHTTPRedirection)
                    #expect(question.facts["proposed"]?["url"]?.string == origin.url("/second"))
                    let answered = try await client.questions.answer(question, "follow", note: "It is ours.")
                    #expect(answered.state == .answered)
                    let other = await #expect(throws: FetchdError.self) {
                        try await client.questions.answer(question, "cancel")
                    }
                    #expect(other?.code == .alreadyAnswered)
                }
            }
            #expect(try await client.jobs.result(id).response?.url.path == "/second")
        }
    }

    @Test func `a body larger than a job may have is a blob`() async throws {
        let content = pattern(3 << 20)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                #expect(try connection.receive(content.count) == content)
                try connection.send(Self.ok)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            var request = try Request(origin.url())
            request.method = .put
            request.body = .bytes(content)
            let job = try await service.client.jobs.submit(request, wait: .seconds(30))
            #expect(job.response?.status == .ok, "\(job)")
        }
    }
}
