import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The limits of tenants, with the whole service.
@Suite(.timeLimit(.minutes(3))) struct TenantLimitTests {
    private static let policy = HTTPField.Name("RateLimit-Policy")!
    private static let left = HTTPField.Name("RateLimit")!

    /// Changes the limits of a tenant on a running service.
    private func limit(_ tenant: String, _ limits: String, _ operators: ServiceProcess) async throws {
        let answer = try await operators.request(.patch, "/v1/admin/tenants/\(tenant)", body: limits)
        try #require(answer.status == 200, "\(answer.text)")
    }

    private func usage(_ service: ServiceProcess, _ name: String) async throws -> Int? {
        member(try await service.request(.get, "/v1/usage").json, name, "count")
    }

    /// An origin that counts the requests for `/held`, and answers them when the gate is open.
    private static func holding(_ gate: Gate, _ count: TestSupport.Progress) throws -> WireOrigin {
        try WireOrigin(anywhere: true) { connection in
            while let head = try connection.receiveHead() {
                if head.contains("/held") {
                    count.add(1)
                    try gate.wait()
                }
                try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    // Proves: SEC-45.
    @Test func `one tenant beyond its request rate gets 429, another does not, and the rate is changed while they run`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let operators = try await ServiceProcess.start(place, key: try await place.key(scopes: .all))
            let hostile = operators.speaking(with: try await place.key(tenant: "hostile"))
            let quiet = operators.speaking(with: try await place.key(tenant: "quiet"))
            let first = try await hostile.request(.get, "/v1/jobs")
            #expect(first.headers[Self.policy] == #""requests";q=20000;w=2"#)
            try await limit("hostile", #"{"maximumRequestsPerSecond": 1}"#, operators)
            try await until { try await hostile.request(.get, "/v1/jobs").status == 429 }
            let job = #"{"request": "data:,x"}"#
            let flood = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<300 {
                    group.addTask { try await hostile.request(.post, "/v1/jobs", body: job).status }
                }
                for _ in 0..<100 {
                    let status = try await quiet.request(.get, "/v1/jobs").status
                    #expect(status == 200)
                }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(flood.keys.allSatisfy { [202, 429].contains($0) } && flood[429, default: 0] > 200, "\(flood)")
            // Slow as a test may be, one of these follows the one before at once.
            var refused = try await hostile.request(.post, "/v1/jobs", body: job)
            try await until {
                refused = try await hostile.request(.post, "/v1/jobs", body: job)
                return refused.status == 429
            }
            #expect(member(refused.json, "code") == "tooManyRequests" && refused.headers[.retryAfter] == "1")
            #expect(refused.headers[Self.policy] == #""requests";q=2;w=2"#)
            #expect(refused.headers[Self.left] == #""requests";r=0;t=1"#)
            #expect(try await place.run("tenants", "list").contains("hostile  weight 1  maximumRequestsPerSecond 1"))
            let set = try await place.run("tenants", "set", "hostile", "--maximum-requests-per-second", "default")
            #expect(set == "hostile  weight 1")
            try await until {
                try await hostile.request(.get, "/v1/jobs").headers[Self.policy] == #""requests";q=20000;w=2"#
            }
            for _ in 0..<20 { #expect(try await hostile.request(.get, "/v1/jobs").status == 200) }
            #expect(try await operators.stop() == 0)
        }
    }

    // Proves: SEC-45.
    @Test func `of a tenant as many jobs run as may, wherever they come from, and others are not held up`()
        async throws
    {
        let (gate, count) = (Gate(), TestSupport.Progress())
        let origin = try Self.holding(gate, count)
        try await ServiceProcess.Place.with(
            allowing: (1...2).map { "127.0.0.\($0):\(origin.port)" },
            settings: ["TENANTS_MAXIMUM_RUNNING_JOBS": "3", "WORKER_LEASE_SECONDS": "1"]
        ) { place in
            let operators = try await ServiceProcess.start(place, key: try await place.key(scopes: .all))
            let many = operators.speaking(with: try await place.key(tenant: "many"))
            // Each with a path of its own: jobs that ask for the same wait for the first one's answer.
            let held = { (number: Int) in
                #"{"request": "http://127.0.0.\#(1 + number % 2):\#(origin.port)/held/\#(number)"}"#
            }
            let lines = (0..<10).map(held).joined(separator: "\n")
            let batch = try await many.request(
                .post, "/v1/jobs/batch", body: lines, headers: [.contentType: "application/x-ndjson"])
            try #require(batch.status == 200)
            for number in 10...11 {
                #expect(try await many.request(.post, "/v1/jobs", body: held(number)).status == 202)
            }
            let (url, waiting) = (origin.url("/free"), origin.url("/held"))
            try await place.database.client.query(
                "SELECT fetchd.enqueue(json_build_object('request', \(waiting)::text), 'many')")
            try await until { count.value == 3 }
            // Another tenant's jobs run at once; the database knows of no fourth.
            for _ in 0..<5 { #expect(member(try await operators.fetch(url), "state") == "succeeded") }
            #expect(count.value == 3)
            #expect(try await usage(many, "runningJobs") == 3)
            #expect(try await usage(many, "waitingJobs") == 10)
            try await limit("many", #"{"maximumRunningJobs": 5}"#, operators)
            try await until { count.value == 5 }
            #expect(try await usage(many, "runningJobs") == 5)
            gate.open()
            try await until { try await usage(many, "waitingJobs") == 0 }
            try await until { try await usage(many, "runningJobs") == 0 }
            #expect(count.value == 13)
            #expect(try await operators.stop() == 0)
        }
    }

    @Test func `two nodes divide the jobs of a tenant that may run, and one has them all when the other is gone`()
        async throws
    {
        let (gate, count) = (Gate(), TestSupport.Progress())
        let origin = try Self.holding(gate, count)
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)"],
            settings: ["TENANTS_MAXIMUM_RUNNING_JOBS": "4", "WORKER_LEASE_SECONDS": "1"]
        ) { place in
            let key = try await place.key()
            let (first, other) = (
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key)
            )
            try await place.untilNodesKnowOfEachOther()
            let lines = (0..<12).map { #"{"request": "\#(origin.url("/held/\($0)"))"}"# }.joined(separator: "\n")
            let batch = try await first.request(
                .post, "/v1/jobs/batch", body: lines, headers: [.contentType: "application/x-ndjson"])
            try #require(batch.status == 200)
            try await until { count.value == 4 }
            // Each has its half.
            let halves = "SELECT count(*) FROM queue WHERE node_id IS NOT NULL GROUP BY node_id" as Query
            let running = try await place.database.client.query(halves).map { try $0.decode(Int64.self, at: 0) }
            #expect(running == [2, 2])
            // Another tenant's job runs on either.
            let quiet = try await place.key(tenant: "quiet")
            for node in [first, other] {
                #expect(member(try await node.fetch(origin.url("/free"), key: quiet), "state") == "succeeded")
            }
            #expect(count.value == 4)
            other.send(SIGKILL)
            _ = try await other.waitForEnd()
            // Two that were lost run again here.
            try await until { count.value == 6 }
            // Those of the lost node may be among them for a moment, while others run in their place.
            try await until { try await usage(first, "runningJobs") == 4 }
            gate.open()
            try await until { try await usage(first, "waitingJobs") == 0 }
            try await until { try await usage(first, "runningJobs") == 0 }
            #expect(try await first.stop() == 0)
        }
    }

    // Proves: SEC-45.
    @Test func `beyond its stored bytes a tenant's uploads and jobs are refused, until it removes some`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 60000\r\n\r\n"
                        + String(repeating: "x", count: 60_000))
            }
        }
        try await ServiceProcess.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: ["TENANTS_MAXIMUM_STORED_BYTES": "100000"]
        ) { service in
            let more = #", "kind": "download""#
            let first = try await service.fetch(origin.url("/a"), more: more)
            #expect(member(first, "state") == "succeeded", "\(first)")
            #expect(try await usage(service, "storedBytes") == 60_000)
            let second = try await service.fetch(origin.url("/b"), more: more)
            #expect(member(second, "error", "name") == "dataLengthExceedsMaximum", "\(second)")
            func upload(_ count: Int) async throws -> ServiceProcess.Answer {
                let bytes = RequestBody.bytes([UInt8](repeating: 120, count: count))
                return try await service.send(.post, "/v1/blobs", bytes, headers: [.contentType: "text/plain"])
            }
            let refused = try await upload(40_001)
            #expect(refused.status == 429 && refused.headers[Self.policy] == #""storedBytes";q=100000"#)
            #expect(try await upload(40_000).status == 201)
            let body = #"{"request": {"url": "\#(origin.url("/c"))"}}"#
            var answer = try await service.request(.post, "/v1/jobs", body: body)
            #expect(answer.status == 429 && answer.headers[Self.policy] == #""storedBytes";q=100000"#)
            #expect(member(answer.json, "code") == "tooManyBytes")
            let file: String = try #require(member(first, "file", "blob"))
            #expect(try await service.request(.delete, "/v1/blobs/\(file)").status == 204)
            // A body that is kept with its job takes the room, too, until the job goes.
            try await until {
                answer = try await service.request(.post, "/v1/jobs", body: body)
                return answer.status == 202
            }
            let job: String = try #require(member(answer.json, "id"))
            try await until { try await usage(service, "storedBytes") == 100_000 }
            // Those that are taken before that is known load nothing.
            let empty = #"{"request": {"url": "http://10.0.0.1/"}}"#
            try await until { try await service.request(.post, "/v1/jobs", body: empty).status == 429 }
            #expect(try await service.request(.delete, "/v1/jobs/\(job)").status == 204)
            #expect(try await usage(service, "storedBytes") == 40_000)
            try await until { try await upload(60_000).status == 201 }
        }
    }

    // Proves: SEC-44.
    @Test func `what an upload holds that is not complete takes room, also after a restart`() async throws {
        try await ServiceProcess.Place.with(
            allowing: [], settings: ["TENANTS_MAXIMUM_STORED_BYTES": "100000"]
        ) { place in
            let key = try await place.key(tenant: "sender")
            let headers: HTTPFields = [try #require(HTTPField.Name("Upload-Complete")): "?0"]
            func begin(_ service: ServiceProcess) async throws -> ServiceProcess.Answer {
                let bytes = [UInt8](repeating: 120, count: 60_000)
                return try await service.send(.post, "/v1/blobs", .bytes(bytes), headers: headers)
            }
            let first = try await ServiceProcess.start(place, key: key)
            let begun = try await begin(first)
            let path = try #require(begun.headers[.location], "\(begun.text)")
            #expect(try await begin(first).status == 429)
            #expect(try await first.stop() == 0)
            let next = try await ServiceProcess.start(place, key: key)
            let refused = try await begin(next)
            #expect(refused.status == 429 && refused.headers[Self.policy] == #""storedBytes";q=100000"#)
            #expect(try await next.request(.delete, path).status == 204)
            #expect(try await begin(next).status == 201)
            #expect(try await next.stop() == 0)
        }
    }

    // Proves: SEC-45.
    @Test func `beyond its bytes of a day a tenant's jobs are refused on every node, also after a crash`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 100000\r\n\r\n"
                        + String(repeating: "x", count: 100_000))
            }
        }
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: ["TENANTS_MAXIMUM_BYTES_PER_DAY": "250000"]
        ) { place in
            let key = try await place.key(tenant: "mover")
            let service = try await ServiceProcess.start(place, key: key)
            let other = try await ServiceProcess.start(place.apart, key: key)
            let body = #"{"request": {"url": "\#(origin.url("/"))"}}"#
            for node in [service, other, service] {
                #expect(member(try await node.fetch(origin.url("/")), "state") == "succeeded")
            }
            // What both have moved is known to each when it was written down.
            for node in [service, other] {
                try await until { try await node.request(.post, "/v1/jobs", body: body).status == 429 }
            }
            let refused = try await service.request(.post, "/v1/jobs", body: body)
            #expect(member(refused.json, "code") == "trafficExhausted")
            #expect(refused.headers[Self.policy] == #""bytesOfDay";q=250000;w=86400"#)
            let wait = try #require(refused.headers[.retryAfter].flatMap { Int($0) })
            #expect((1...86_400).contains(wait))
            let free = try await place.key(tenant: "free")
            #expect(member(try await service.fetch(origin.url("/"), key: free), "state") == "succeeded")
            try await until { try await usage(service, "bytesOfDay") ?? 0 > 300_000 }
            let moved = try await usage(service, "bytesOfDay")
            for node in [service, other] {
                node.send(SIGKILL)
                _ = try await node.waitForEnd()
            }
            let next = try await ServiceProcess.start(place, key: key)
            #expect(try await usage(next, "bytesOfDay") ?? 0 >= moved ?? .max)
            #expect(try await next.request(.post, "/v1/jobs", body: body).status == 429)
            // The next day of UTC.
            try await place.database.client.query("UPDATE traffic SET day = day - 1")
            try await until { try await next.request(.post, "/v1/jobs", body: body).status == 202 }
            #expect(try await next.stop() == 0)
        }
    }
}
