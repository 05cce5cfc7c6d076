import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// Jobs whose origins hang or are overrun, beside those of others: the same tenant's and another's.
@Suite(.timeLimit(.minutes(3)), .serialized) struct FairnessTests {
    /// Where 200 hosts are that take connections and never answer.
    private static let hosts = (0..<200).map { "127.7.\($0 / 100).\($0 % 100 + 1)" }

    /// A listener at every address of the loopback network that nobody ever takes a connection from.
    private final class HangingOrigin: Sendable {
        let port: UInt16
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    // The system takes every connection, and lets it wait.
                    bind(descriptor, pointer, length) == 0 && listen(descriptor, 4096) == 0
                        && getsockname(descriptor, pointer, &length) == 0
                }
            }
            try #require(status)
            port = UInt16(bigEndian: address.sin_port)
        }

        deinit { close(descriptor) }
    }

    /// - Parameter count: Counts the requests.
    private static func answering(after wait: Duration = .zero, _ count: TestSupport.Progress = TestSupport.Progress())
        throws -> WireOrigin
    {
        try WireOrigin(anywhere: true) { connection in
            while try connection.receiveHead() != nil {
                count.add(1)
                if wait > .zero { poll(nil, 0, Int32(wait / .milliseconds(1))) }
                try connection.send(answer)
            }
        }
    }

    private static let answer = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok"

    /// Runs a test over a service and an origin that answers, with a key of each of two tenants.
    ///
    /// The test gets a function that tells whether jobs of both are prompt beside a load, as against how they were
    /// before it.
    private static func with(
        _ rules: [String], settings: [String: String] = [:],
        _ body: (ServiceProcess, (String) async throws -> Void) async throws -> Void
    ) async throws {
        let healthy = try answering()
        try await ServiceProcess.Place.with(
            allowing: rules + ["127.0.0.1:\(healthy.port)"],
            // Jobs that are never answered are not waited for at the end.
            settings: settings.merging(["WORKER_DRAIN_SECONDS": "0.2"]) { $1 }
        ) { place in
            let key = try await place.key()
            let other = try await place.key(tenant: "other")
            let service = try await ServiceProcess.start(place, key: key)
            let alone = try await times(of: healthy, service, key: key)
            try await body(service) { load in
                for (tenant, key) in [("the same", key), ("another", other)] {
                    // On a machine that is busy with other things a job is slow without a load, too.
                    let times = try await times(of: healthy, service, key: key)
                    let bound = max(.seconds(1), alone[0] * 30)
                    #expect(times[0] < bound, "\(tenant), beside \(load): \(times), alone: \(alone)")
                }
            }
            try await service.stop()
        }
    }

    /// How long each of three jobs takes that an origin answers, the shortest first.
    private static func times(
        of origin: WireOrigin, _ service: ServiceProcess, key: String
    ) async throws -> [Duration] {
        var times: [Duration] = []
        for _ in 0..<3 {
            let start = ContinuousClock.now
            let job = try await service.fetch(origin.url("/"), key: key)
            times.append(ContinuousClock.now - start)
            #expect(member(job, "state") == "succeeded")
        }
        return times.sorted()
    }

    private static func batch(_ lines: [String], _ service: ServiceProcess) async throws {
        let type = HTTPFields([HTTPField(name: .contentType, value: "application/x-ndjson")])
        for start in stride(from: 0, to: lines.count, by: 1000) {
            let part = lines[start..<min(start + 1000, lines.count)].joined(separator: "\n") + "\n"
            let answer = try await service.request(.post, "/v1/jobs/batch", body: part, headers: type)
            try #require(answer.status == 200, "\(answer.text)")
        }
    }

    private static func line(_ url: String) -> String { #"{"request": {"url": "\#(url)"}}"# }

    private static func running(_ service: ServiceProcess) async throws -> Int {
        try #require(member(try await service.request(.get, "/v1/queue").json, "running"))
    }

    // Proves: REL-14.
    @Test func `jobs for a host that never answers delay nobody, and no more of them run than have connections`()
        async throws
    {
        let hanging = try HangingOrigin()
        try await Self.with(Self.hosts.map { "\($0):\(hanging.port)" }) { service, expectPromptness in
            let url = "http://\(Self.hosts[0]):\(hanging.port)/"
            try await Self.batch((0..<600).map { Self.line("\(url)?\($0)") }, service)
            try await expectPromptness("600 jobs for one host")
            try await until { try await Self.running(service) == 6 }
            try await expectPromptness("594 jobs at its gate")
            let metrics = try await service.request(.get, "/metrics").text
            #expect(metrics.contains("\nfetchd_jobs_running 6\n"))
        }
    }

    // Proves: REL-14.
    @Test func `jobs for two hundred hosts that never answer delay nobody`() async throws {
        let hanging = try HangingOrigin()
        try await Self.with(Self.hosts.map { "\($0):\(hanging.port)" }) { service, expectPromptness in
            try await Self.batch(
                (0..<1000).map { Self.line("http://\(Self.hosts[$0 % 200]):\(hanging.port)/\($0)") }, service)
            try await expectPromptness("1 000 jobs for 200 hosts")
            try await until { try await Self.running(service) == 1000 }
            try await expectPromptness("1 000 that run")
        }
    }

    // Proves: REL-14.
    @Test func `ten thousand quick jobs for one host do not delay those for others`() async throws {
        let asked = Progress()
        // All of them take a minute, so that many are left whenever the machine gets to the others.
        let quick = try Self.answering(after: .milliseconds(40), asked)
        try await Self.with(["127.9.9.9:\(quick.port)"]) { service, expectPromptness in
            let url = "http://127.9.9.9:\(quick.port)/"
            try await Self.batch((0..<10_000).map { Self.line("\(url)?\($0)") }, service)
            try await expectPromptness("10 000 for one host")
            try await until { asked.value >= 100 }
            let earlier = asked.value
            try await expectPromptness("10 000 for one host, of which some have run")
            // In the order of their submission these would have been the last.
            #expect(asked.value - earlier < 5_000 && asked.value < 10_000)
        }
    }

    /// Stores jobs of the first tenant for some hosts in turn, as a service would have left them that was gone since.
    private static func store(_ count: Int32, for hosts: [String], in database: TestDatabase) async throws {
        try await database.client.query(
            """
            WITH job AS (
                INSERT INTO jobs (tenant_id, id, spec, kind, host)
                SELECT t.id, fetchd.new_job_id(),
                    json_build_object(
                        'kind', 'data',
                        'request', json_build_object('url', 'http://' || h.host || '/?' || n, 'method', 'GET'),
                        'priority', 0.5),
                    'data', h.host
                FROM tenants t, generate_series(1, \(count)) n,
                    LATERAL (SELECT (\(hosts)::text[])[1 + n % cardinality(\(hosts)::text[])] AS host) h
                WHERE t.name = 'default'
                RETURNING tenant_id, id
            )
            INSERT INTO queue (tenant_id, job_id, rank)
            SELECT tenant_id, id, 500
            FROM job
            """)
    }

    // Each of five hosts answers 150 a second, so that most of them wait for as long as the test takes.
    // Proves: REL-14.
    @Test func `a hundred thousand jobs of one tenant delay another's single job by no more than a second`()
        async throws
    {
        let (asked, healthy) = (Progress(), try Self.answering())
        let quick = try Self.answering(after: .milliseconds(40), asked)
        let hosts = Self.hosts.prefix(5).map { "\($0):\(quick.port)" }
        try await ServiceProcess.Place.with(
            allowing: hosts + ["127.0.0.1:\(healthy.port)"],
            settings: ["WORKER_DRAIN_SECONDS": "0.2", "WORKER_LEASE_SECONDS": "3"]
        ) { place in
            let (key, other) = (try await place.key(), try await place.key(tenant: "other"))
            let service = try await ServiceProcess.start(place, key: key)
            let alone = try await Self.times(of: healthy, service, key: other)
            try await Self.store(100_000, for: hosts, in: place.database)
            try await until { asked.value >= 100 }
            let beside = try await Self.times(of: healthy, service, key: other)
            #expect(beside[0] - alone[0] <= .seconds(1), "\(beside), alone: \(alone)")
            let waiting = try await place.database.client.query("SELECT count(*) FROM queue WHERE node_id IS NULL")
            #expect(try #require(try waiting.first?.decode(Int64.self, at: 0)) > 50_000)
            try await service.stop()
        }
    }

    /// - Returns: How many jobs for a host it made a difference to.
    private static func act(_ action: String, _ host: String, _ service: ServiceProcess) async throws -> Int? {
        let order = #"{"action": "\#(action)", "filter": {"host": "\#(host)"}}"#
        return member(try await service.request(.post, "/v1/jobs/actions", body: order).json, "changed")
    }

    // Proves: REL-14.
    @Test func `jobs that are held take nothing from others, and take back what they had`() async throws {
        let hanging = try HangingOrigin()
        let host = "\(Self.hosts[0]):\(hanging.port)"
        // More than a line has and than the node has slots for.
        try await Self.with([host], settings: ["WORKER_CONCURRENCY": "520"]) {
            service, expectPromptness in
            for _ in 0..<2 {
                try await Self.batch((0..<700).map { Self.line("http://\(host)/?\($0)") }, service)
                try await until { try await Self.running(service) == 6 }
                for action in ["suspend", "resume", "suspend"] {
                    #expect(try await Self.act(action, host, service) == 700, "\(action)")
                    try await expectPromptness("700 after \(action)")
                }
                #expect(try await Self.act("cancel", host, service) == 700)
                try await until { try await Self.running(service) == 0 }
            }
            try await expectPromptness("none")
        }
    }

    // Proves: REL-14.
    @Test func `jobs that are held leave connections to their host that they do not have`() async throws {
        let arrived = Progress()
        let origin = try WireOrigin(anywhere: true) { connection in
            while let head = try connection.receiveHead() {
                // Of these none is ever answered.
                if head.contains("/held") { arrived.add(1) } else { try connection.send(Self.answer) }
            }
        }
        let host = "127.9.9.9:\(origin.port)"
        try await Self.with([host]) { service, _ in
            var first: [String] = []
            for number in 0..<3 {
                let line = Self.line("http://\(host)/held?\(number)")
                let answer = try await service.request(.post, "/v1/jobs", body: line)
                first.append(try #require(member(answer.json, "id")))
            }
            try await until { arrived.value == 3 }
            try await Self.batch((3..<43).map { Self.line("http://\(host)/held?\($0)") }, service)
            try await until { arrived.value == 6 }
            #expect(try await Self.act("suspend", host, service) == 43)
            for id in first { _ = try await service.request(.post, "/v1/jobs/\(id)/cancel") }
            // It would wait for ever: none of the others is ever answered.
            #expect(member(try await service.fetch("http://\(host)/quick"), "state") == "succeeded")
            #expect(arrived.value == 6)
        }
    }

    // Proves: SES-8.
    @Test(arguments: [1, 2, 5])
    func `nodes together have no more connections to a host than it may have`(maximum: Int) async throws {
        let seen = LimiterTests.Seen()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                seen.begin(head)
                poll(nil, 0, 50)
                seen.end()
                try connection.send(Self.answer)
            }
        }
        let more = #", "configuration": {"connections": {"maximumPerHost": \#(maximum)}}"#
        try await LimiterTests.with(origin, settings: ["WORKER_LEASE_SECONDS": "3"]) { place, nodes in
            try await place.untilNodesKnowOfEachOther()
            var jobs: [String] = []
            for number in 0..<30 {
                jobs.append(try await LimiterTests.submit(origin.url("/\(number)"), more: more, to: nodes[number % 2]))
            }
            for job in jobs { _ = try await nodes[0].job(job) { member($0, "state") == "succeeded" } }
            #expect(seen.most <= maximum)
            #expect(seen.paths.count == jobs.count)
        }
    }

    // nginx counts the connections that have a request, and turns away what is more.
    // Proves: SES-8.
    @Test func `no server has more connections at work than the limit, whichever nodes they come from`() async throws {
        let (maximum, directory) = (4, try TemporaryDirectory())
        // A second and a half for each.
        try directory.write([UInt8](repeating: 0, count: 10_000), to: "root/slow")
        let server = try await LoopbackServer.nginx(
            in: directory, "limit_conn all \(maximum); limit_rate 4k;",
            global: "limit_conn_zone $server_port zone=all:64k;")
        let more = #", "configuration": {"connections": {"maximumPerHost": \#(maximum)}}"#
        let settings = ["WORKER_LEASE_SECONDS": "3"]
        try await ServiceProcess.Place.with(allowing: [server.rule], settings: settings) { place in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key),
            ]
            try await place.untilNodesKnowOfEachOther()
            var jobs: [String] = []
            for number in 0..<12 {
                jobs.append(
                    try await LimiterTests.submit(server.url("/slow?\(number)"), more: more, to: nodes[number % 2]))
            }
            for job in jobs {
                let end = try await nodes[0].job(job) { ["succeeded", "failed"].contains(member($0, "state")) }
                #expect(status(of: end) == 200, "\(end)")
            }
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
        // So many at once would have been noticed.
        let session = Session(configuration: SessionConfiguration())
        try await until {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0...maximum {
                    let url = try URLRecord(server.url("/slow?\(number)"))
                    group.addTask { try await session.data(for: Request(url: url)).1.status.code }
                }
                return try await group.contains(503)
            }
        }
    }
}
