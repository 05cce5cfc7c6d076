import Foundation
import Glibc
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// A node whose wall clock is set to another day while it works.
@Suite(.timeLimit(.minutes(3))) struct ClockTests {
    /// Stands between a program and the clock of the system, as if somebody had set that.
    ///
    /// What it adds is in a file, which the test changes. Clocks that nobody sets are left alone.
    private final class WallClock {
        private let directory: TemporaryDirectory
        private let offset: UnsafeMutablePointer<Int64>

        private static let source = """
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdlib.h>
            #include <sys/mman.h>
            #include <sys/syscall.h>
            #include <sys/time.h>
            #include <time.h>
            #include <unistd.h>

            static const volatile long *offset;

            __attribute__((constructor)) static void begin(void) {
                const char *path = getenv("TEST_CLOCK_OFFSET");
                int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
                void *page = file < 0 ? MAP_FAILED : mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
                if (page != MAP_FAILED) offset = page;
                if (file >= 0) close(file);
            }

            static long added(void) { return offset ? *offset : 0; }

            int clock_gettime(clockid_t clock, struct timespec *time) {
                int result = (int)syscall(SYS_clock_gettime, clock, time);
                if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += added();
                return result;
            }

            int gettimeofday(struct timeval *restrict time, void *restrict zone) {
                int result = (int)syscall(SYS_gettimeofday, time, zone);
                if (result == 0 && time) time->tv_sec += added();
                return result;
            }

            time_t time(time_t *result) {
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                if (result) *result = now.tv_sec;
                return now.tv_sec;
            }
            """

        init() async throws {
            directory = try TemporaryDirectory()
            try directory.write(Self.source, to: "clock.c")
            try directory.write(String(repeating: "\0", count: 8), to: "offset")
            try await Program.run([
                "/usr/bin/env", "clang", "-shared", "-fPIC", "-o", directory.file("clock.so"),
                directory.file("clock.c"),
            ])
            let file = open(directory.file("offset"), O_RDWR)
            try #require(file >= 0)
            defer { close(file) }
            let page = mmap(nil, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            try #require(page != MAP_FAILED)
            offset = try #require(page).assumingMemoryBound(to: Int64.self)
        }

        deinit { munmap(offset, 8) }

        /// Sets it so many seconds before or after the system's.
        func set(to seconds: Int64) { offset.pointee = seconds }

        /// The place with this clock.
        func applied(to place: ServiceProcess.Place) -> ServiceProcess.Place {
            let settings = ["LD_PRELOAD": directory.file("clock.so"), "TEST_CLOCK_OFFSET": directory.file("offset")]
            return ServiceProcess.Place(
                database: place.database, directory: place.directory,
                environment: place.environment.merging(settings) { $1 })
        }

        /// The time that a program with this clock has, in seconds.
        func now() async throws -> Int64 {
            let environment = ["LD_PRELOAD": directory.file("clock.so"), "TEST_CLOCK_OFFSET": directory.file("offset")]
            return try await onThread {
                let program = try Program(["/usr/bin/date", "+%s"], environment: environment, readsOutput: true)
                let text = program.output()
                _ = program.waitForEnd()
                return Int64(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
            }
        }
    }

    private static let day: Int64 = 86_400

    /// Submits POSTs, each with a path of its own.
    private func submit(_ name: String, _ origin: WireOrigin, more: String = "", to node: ServiceProcess) async throws {
        let lines = (0..<10).map { number in
            #"{"request":{"url":"\#(origin.url("/\(name)/\(number)"))","method":"POST"},"#
                + #""configuration":{"connections":{"maximumPerHost":100}}\#(more)}"#
        }
        let answer = try await node.request(
            .post, "/v1/jobs/batch", body: lines.joined(separator: "\n"),
            headers: [.contentType: "application/x-ndjson"])
        #expect(answer.text.matches(of: /job_/).count >= 10, "\(answer.text)")
    }

    // One node has the clock of the system, so that jobs would go to it if the other were taken for dead.
    // Proves: REL-10.
    @Test(arguments: [day, -day])
    func `a wall clock that jumps by a day loses no job, repeats none, and holds none up`(_ jump: Int64) async throws {
        let paths = Mutex<[String]>([])
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                paths.withLock { $0.append(String(head.split(separator: " ")[1])) }
                if head.contains("/held") { try gate.wait() }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let clock = try await WallClock()
        let settings = ["WORKER_LEASE_SECONDS": "3"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let client = place.database.client
            let jumping = try await ServiceProcess.start(clock.applied(to: place), key: key)
            let steady = try await ServiceProcess.start(place.apart, key: key)
            try await place.untilNodesKnowOfEachOther()
            let began = ContinuousClock.now
            let made = try await jumping.request(
                .post, "/v1/schedules",
                body: #"{"interval": 1, "missedRuns": "runAll", "job": {"request": "\#(origin.url("/schedule"))"}}"#)
            #expect(made.status == 201, "\(made.text)")
            try await submit("held", origin, to: jumping)
            try await submit("later", origin, more: #", "delay": 2"#, to: jumping)
            try await until { paths.withLock { $0.count { $0.hasPrefix("/held") } } == 10 }
            clock.set(to: jump)
            let moved = try await clock.now() - Int64(Date.now.timeIntervalSince1970)
            #expect(abs(moved - jump) < 60)
            // Two heartbeats of each node, which would find the other's jobs.
            for _ in 0..<2 { try await place.untilNodesKnowOfEachOther() }
            try await submit("after", origin, more: #", "delay": 1"#, to: jumping)
            try await submit("steady", origin, to: steady)
            gate.open()
            let posts: Query = "spec #>> '{request,method}' = 'POST'"
            try await until {
                let rows = try await client.query(
                    """
                    SELECT
                    FROM results r
                    JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
                    WHERE r.state = 'succeeded' AND \(posts)
                    """)
                return rows.count == 40
            }
            let seen = paths.withLock { $0.filter { $0 != "/schedule" } }
            #expect(seen.count == 40 && Set(seen).count == 40)
            // As many runs as seconds, and not those of a day.
            let scheduled = try await client.query("SELECT FROM jobs WHERE NOT (\(posts))").count
            #expect(Double(scheduled) <= (ContinuousClock.now - began) / .seconds(1) + 10)
            try await until { try await client.query("SELECT FROM jobs WHERE NOT (\(posts))").count >= scheduled + 2 }
            #expect(try await jumping.stop() == 0, "\(jumping.logged)")
            #expect(try await steady.stop() == 0, "\(steady.logged)")
        }
    }
}
