import FetchJobs
import FetchRuntime
import FetchStorage
import Foundation
import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

/// The places outside of the database that get every entry of the audit log.
@Suite struct AuditFollowerTests {
    private struct Fixture {
        let stores: StoreFixture
        let log: PostgresAuditLog
        let metrics = MetricsRegistry()
        let directory: TemporaryDirectory
        let one = Tenant.ID(rawValue: 1)

        static func with(_ body: (Fixture) async throws -> Void) async throws {
            try await StoreFixture.with { stores in
                let log = PostgresAuditLog(client: stores.database.client, logger: TestDatabase.logger)
                try await body(Fixture(stores: stores, log: log, directory: try TemporaryDirectory()))
            }
        }

        /// The follower of a node of its own.
        func follower(_ sink: any AuditSink) -> AuditFollower {
            AuditFollower(
                sink: sink, client: stores.database.client, node: Node.ID(), metrics: metrics,
                logger: TestDatabase.logger)
        }

        /// Writes entries, and gives them their places.
        func record(_ count: Int, of chain: Tenant.ID = Tenant.ID(rawValue: 1)) async throws {
            try await stores.database.client.query(
                """
                INSERT INTO audit_entries (tenant_id, actor, action, object)
                SELECT \(chain), 'cli', 'dashboard.signIn', n::text FROM generate_series(1, \(count)) AS n
                """)
            _ = try await log.entries(matching: AuditFilter(chain: chain), after: nil, limit: 1)
        }

        /// The lines of files, one after the other.
        func check(_ names: String...) -> (lines: AuditLines, count: Int) {
            var (lines, count) = (AuditLines(), 0)
            for name in names {
                for line in directory.contents(of: name).split(separator: UInt8(ascii: "\n")) {
                    lines.read(line)
                    count += 1
                }
            }
            return (lines, count)
        }
    }

    /// Where batches go to be looked at; one may be lost on its way back.
    private final class Catcher: AuditSink {
        let inner: (any AuditSink)?
        let batches = Mutex<[[AuditEntry]]>([])
        let failures = Mutex(0)
        var name: String { inner?.name ?? "test" }
        var kind: AuditSinkKind { .file }

        init(_ inner: (any AuditSink)? = nil) { self.inner = inner }

        func write(_ entries: [AuditEntry]) async throws(AuditSinkFailure) {
            try await inner?.write(entries)
            batches.withLock { $0.append(entries) }
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw AuditSinkFailure("the node has died") }
        }
    }

    private func expectIntact(
        _ lines: AuditLines, _ heads: [Int64], _ location: SourceLocation = #_sourceLocation
    ) {
        let isIntact = lines.reports.allSatisfy { $0.fault == nil } && lines.brokenLines == 0
        #expect(isIntact, "\(lines.reports)", sourceLocation: location)
        #expect(lines.reports.map(\.head.sequence) == heads, sourceLocation: location)
    }

    @Test func `a file gets every entry once, nobody else may read it, and it may be moved away`() async throws {
        try await Fixture.with { fixture in
            let follower = fixture.follower(AuditFile(path: fixture.directory.file("audit")))
            try await fixture.record(1250)
            try await fixture.record(3, of: .service)
            _ = await follower.follow()
            #expect(rename(fixture.directory.file("audit"), fixture.directory.file("audit.1")) == 0)
            try await fixture.record(10)
            _ = await follower.follow()
            let (lines, count) = fixture.check("audit.1", "audit")
            expectIntact(lines, [3, 1260])
            #expect(count == 1263 && fixture.check("audit").count == 10)
            var status = stat()
            #expect(stat(fixture.directory.file("audit"), &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(fixture.metrics.text.contains(#"fetchd_audit_sink_backlog{sink="file"} 0"#))
            _ = await follower.follow()
            #expect(fixture.check("audit").count == 10)
        }
    }

    @Test func `what a node had not noted when it died comes again, and nothing else`() async throws {
        try await Fixture.with { fixture in
            let dying = Catcher(AuditFile(path: fixture.directory.file("audit")))
            dying.failures.withLock { $0 = 1 }
            try await fixture.record(250)
            _ = await fixture.follower(dying).follow()
            #expect(fixture.check("audit").count == 100)
            _ = await fixture.follower(AuditFile(path: fixture.directory.file("audit"))).follow()
            let (lines, count) = fixture.check("audit")
            expectIntact(lines, [250])
            #expect(count == 350)
        }
    }

    @Test func `a sink that cannot be written loses nothing, and people are told`() async throws {
        try await Fixture.with { fixture in
            let follower = fixture.follower(AuditFile(path: fixture.directory.file("gone/audit")))
            try await fixture.record(5)
            _ = await follower.follow()
            #expect(await follower.remark?.contains("cannot be written") == true)
            #expect(await follower.fault?.contains("No such file") == true)
            #expect(fixture.metrics.text.contains(#"fetchd_audit_sink_backlog{sink="file"} 5"#))
            #expect(fixture.metrics.text.contains(#"fetchd_audit_sink_failures_total{sink="file"} 1"#))
            try fixture.directory.makeDirectory("gone")
            _ = await follower.follow()
            #expect(await follower.remark == nil)
            expectIntact(fixture.check("gone/audit").lines, [5])
        }
    }

    @Test func `half a line that a crash has left spoils no entry`() async throws {
        try await Fixture.with { fixture in
            try fixture.directory.write(#"{"id":"aud_"#, to: "audit")
            try await fixture.record(2)
            _ = await fixture.follower(AuditFile(path: fixture.directory.file("audit"))).follow()
            let (lines, count) = fixture.check("audit")
            #expect(count == 3 && lines.brokenLines == 1 && lines.reports.map(\.fault) == [nil])
        }
    }

    @Test func `one node at a time writes, and another one when that fails or stops`() async throws {
        try await Fixture.with { fixture in
            let (first, second) = (Catcher(), Catcher())
            let (one, other) = (fixture.follower(first), fixture.follower(second))
            try await fixture.record(2)
            _ = await one.follow()
            try await fixture.record(2)
            _ = await other.follow()
            #expect(second.batches.withLock(\.count) == 0)
            first.failures.withLock { $0 = 1 }
            _ = await one.follow()
            _ = await other.follow()
            #expect(second.batches.withLock { $0.map { $0.map(\.sequence) } } == [[3, 4]])
            try await fixture.record(1)
            _ = await one.follow()
            #expect(first.batches.withLock(\.count) == 2)
            try await fixture.stores.database.client.query(
                "UPDATE audit_sinks SET lease_until = now() - interval '1 s'")
            _ = await one.follow()
            #expect(first.batches.withLock(\.last)?.map(\.sequence) == [5])
        }
    }

    @Test func `a tenant that does much does not hold up the others`() async throws {
        try await Fixture.with { fixture in
            let catcher = Catcher()
            try await fixture.record(3000)
            for chain in 2...30 { try await fixture.record(1, of: Tenant.ID(rawValue: Int64(chain))) }
            _ = await fixture.follower(catcher).follow()
            let batches = catcher.batches.withLock(\.self)
            #expect(Set(batches[0].map(\.chain)).count == 30)
            #expect(batches.allSatisfy { $0.count <= 1000 })
            #expect(batches.reduce(0) { $0 + $1.count } == 3029)
        }
    }

    @Test func `what retention removed before a sink had it is passed over`() async throws {
        try await Fixture.with { fixture in
            try await fixture.stores.database.client.query(
                """
                INSERT INTO audit_entries (tenant_id, at, actor, action)
                SELECT 1, now() - interval '400 days', 'cli', 'old' FROM generate_series(1, 25)
                """)
            let catcher = Catcher()
            let follower = fixture.follower(catcher)
            try await fixture.record(1, of: .service)
            _ = await follower.follow()
            _ = try await fixture.log.entries(matching: AuditFilter(), after: nil, limit: 1)
            _ = try await PostgresExpiredRowStore(client: fixture.stores.database.client)
                .remove(.auditEntries, keeping: Retention())
            try await fixture.record(2)
            _ = await follower.follow()
            #expect(catcher.batches.withLock(\.last)?.map(\.sequence) == [26, 27])
        }
    }

    // MARK: Syslog

    private enum Way: CaseIterable { case socket, tcp }

    private func sink(_ way: Way, _ directory: TemporaryDirectory, _ port: UInt16) throws -> AuditSyslog {
        let text = way == .tcp ? "tcp://localhost:\(port)" : "unix:\(directory.file(LoopbackServer.syslogSocket))"
        return AuditSyslog(try #require(SyslogAddress(text)))
    }

    @Test(.enabled(if: LoopbackServer.rsyslogd != nil), arguments: Way.allCases)
    private func `a syslog daemon gets every entry, also those of when it was away`(_ way: Way) async throws {
        try await Fixture.with { fixture in
            let directory = fixture.directory
            let port = try LoopbackServer.freePort()
            let follower = fixture.follower(try sink(way, directory, port))
            func received() -> (fields: [[Substring]], lines: AuditLines) {
                var lines = AuditLines()
                let fields = directory.text(of: LoopbackServer.syslogFile).split(separator: "\n").map { line in
                    line.split(separator: "\t", omittingEmptySubsequences: false)
                }
                for field in fields { lines.read(Array((field.last ?? "").drop { $0 == " " }.utf8)) }
                return (fields, lines)
            }
            try await fixture.record(150)
            _ = await follower.follow()
            #expect(await follower.fault != nil)
            for round in 1...2 {
                // The second is another one in the place of the first, which was killed.
                let daemon = try await LoopbackServer.rsyslogd(in: directory, port: port)
                _ = await follower.follow()
                #expect(await follower.fault == nil)
                try await until { received().fields.count >= 150 * round }
                withExtendedLifetime(daemon) {}
                try await fixture.record(150)
            }
            _ = await follower.follow()
            #expect(await follower.fault != nil)
            let (fields, lines) = received()
            expectIntact(lines, [300])
            #expect(fields.count == 300)
            let id = way == .tcp ? "dashboard.signIn" : "-"
            #expect(fields[0].prefix(5) == ["audit", "notice", "fetchd", "\(getpid())", Substring(id)])
        }
    }

    @Test func `a receiver that breaks off has not got the batch`() async throws {
        try await Fixture.with { fixture in
            // It reads nothing, so that its end is a reset.
            let receiver = try WireOrigin { _ in }
            let follower = fixture.follower(
                AuditSyslog(try #require(SyslogAddress("tcp://127.0.0.1:\(receiver.port)"))))
            try await fixture.record(150)
            _ = await follower.follow()
            #expect(await follower.fault != nil)
            #expect(fixture.metrics.text.contains(#"fetchd_audit_sink_backlog{sink="syslog"} 150"#))
        }
    }

    @Test func `an address of a daemon is a socket of the machine, or a TCP port`() {
        for text in [
            "unix:/dev/log", "tcp://10.0.0.9:601", "tcp://[2001:db8::1]:514", "tcp://logs.example:6514",
            "tls://logs.example:6514", "tls://10.0.0.9:6514", "tls://[2001:db8::1]:6514",
        ] {
            #expect(SyslogAddress(text)?.description == text)
        }
        let long = "unix:/" + String(repeating: "a", count: 120)
        for text in [
            "", "/dev/log", "unix:dev/log", "unix:", "udp://a:514", "tcp://a", "tcp://:514", "tcp://a:0",
            "tcp://a:70000",
            "tcp://a:514/", "tcp://u@a:514", "tcp://::1:514", "tcp://[a]:514", "tcp://a b:514", "tls://a", "tls://a:0",
            "https://a:1", long,
        ] {
            #expect(SyslogAddress(text) == nil, "\(text)")
        }
    }
}
