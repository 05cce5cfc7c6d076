import FetchAPI
import FetchEngine
import FetchJobs
import FetchStorage
import Glibc
import HTTPTypes
import SystemPackage

/// What "fetchd doctor" has found out, each with what to do.
struct Examination: Sendable {
    enum Verdict: String, Sendable {
        case good = "ok   "
        /// Works, and somebody should know.
        case remark = "note "
        case wrong = "WRONG"
    }

    struct Finding: Sendable, Equatable {
        let verdict: Verdict
        let subject: String
        let text: String
        /// What to do about it; nil when nothing is to be done.
        let advice: String?

        init(_ verdict: Verdict, _ subject: String, _ text: String, advice: String? = nil) {
            self.verdict = verdict
            self.subject = subject
            self.text = text
            self.advice = advice
        }

        var line: String { "\(verdict.rawValue)  \(subject): \(text)" + (advice.map { "\n       → \($0)" } ?? "") }
    }

    /// How far the clocks of node and database may be apart: much less than the lease of a node.
    static let allowedSkew = Duration.seconds(2)
    static let fewDescriptors = 4096
    /// The share of the disk that is to be free.
    static let freeShare = 0.1

    // MARK: The machine

    /// Looks at what needs no database.
    static func ofMachine(_ settings: Settings) -> [Finding] {
        [
            descriptors(settings.descriptors.total), directory(settings.dataDirectory), disk(settings.dataDirectory),
            timeZones(TimeZone.directory), guardian(settings),
        ] + keyFiles(settings)
    }

    static func descriptors(_ count: Int) -> Finding {
        guard count < fewDescriptors else { return Finding(.good, "descriptors", "\(count) files and sockets") }
        return Finding(
            .remark, "descriptors", "only \(count) files and sockets may be open; loads wait when none is left",
            advice: "raise the limit: LimitNOFILE=65536 in the unit of systemd, or ulimit -Hn")
    }

    static func directory(_ path: String) -> Finding {
        let existing = nearestDirectory(path)
        guard access(existing, W_OK | X_OK) == 0 else {
            return Finding(
                .wrong, "data directory", "\(existing) may not be written by this user",
                advice: "give it to the service's user (chown), or set DATA_DIRECTORY")
        }
        return Finding(
            .good, "data directory", existing == path ? path : "\(path), which is made at the first start")
    }

    static func disk(_ path: String) -> Finding {
        guard let space = DiskSpace(of: nearestDirectory(path)) else {
            return Finding(.remark, "disk", "its size is not known")
        }
        let share = space.freeBytes / space.bytes
        let text = "\(ByteCount.text(Int64(space.freeBytes))) of \(ByteCount.text(Int64(space.bytes))) are free"
        guard share < freeShare else { return Finding(.good, "disk", text) }
        return Finding(
            .wrong, "disk", text,
            advice: "new jobs get 503 when it is full: set RETENTION_DAYS, remove files, or give bodies to S3_ENDPOINT")
    }

    /// The directory, or the nearest above that is there.
    private static func nearestDirectory(_ path: String) -> String {
        var path = path
        while access(path, F_OK) != 0, path != "/", !path.isEmpty {
            path = FilePath(path).removingLastComponent().string
        }
        return path
    }

    static func timeZones(_ directory: String) -> Finding {
        // A zone that every version of the database has.
        guard access("\(directory)/Etc/UTC", R_OK) == 0 else {
            return Finding(
                .wrong, "time zones", "\(directory) has no zones that can be read, and schedules follow them",
                advice: "install tzdata")
        }
        return Finding(.good, "time zones", directory)
    }

    static func guardian(_ settings: Settings) -> Finding {
        let open = [
            settings.opensMetadata ? "GUARD_ALLOW_METADATA" : nil,
            settings.opensLoopback ? "GUARD_ALLOW_LOOPBACK" : nil,
            settings.opensProxies ? "GUARD_ALLOW_PROXIES" : nil,
            settings.guardAllow.map { "GUARD_ALLOW=\($0)" },
        ].compactMap(\.self)
        guard !open.isEmpty else { return Finding(.good, "guard", "jobs and webhooks reach public addresses only") }
        return Finding(
            .remark, "guard", "jobs and webhooks reach more than public addresses: \(open.joined(separator: ", "))",
            advice: "leave out what they do not need; whoever submits jobs can read what they reach")
    }

    /// Files with keys that others than the service's user may read.
    static func keyFiles(_ settings: Settings) -> [Finding] {
        let files = [
            ("master keys", settings.masterKeys == nil ? "\(settings.dataDirectory)/master.keys" : nil),
            ("key of the certificate", settings.tlsKey),
            ("key for syslog", settings.auditSyslogFiles.key),
        ]
        return files.compactMap { name, path in
            guard let path, let status = FileStatus(path: path) else { return nil }
            guard status.isOpenToAll else { return Finding(.good, name, path) }
            return Finding(
                .wrong, name, "\(path) may be read or written by every user",
                advice: "take that away: chmod 600 \(path)")
        }
    }

    // MARK: The address

    /// Looks whether the service, or another program, is where the service is to listen.
    static func port(_ settings: Settings) async -> Finding {
        guard let origin = settings.dashboardURL == nil ? settings.dashboardOrigin : nil, settings.server.port != 0
        else {
            return Finding(.good, "address", "\(settings.server.host), at a port that is found at the start")
        }
        do throws(RemoteFailure) {
            let health = try await RemoteService(base: origin, key: nil).ask(.get, "/healthz")
            if health.member("status")?.text == "ok" {
                return Finding(.good, "address", "\(origin), where a service runs")
            }
        } catch {
            if !error.isConnected { return Finding(.good, "address", "\(origin), which is free") }
        }
        return Finding(
            .wrong, "address", "another program has the port \(settings.server.port)",
            advice: "end it (ss -ltnp names it), or set SERVER_PORT")
    }

    // MARK: The database

    static let noDatabase = Finding(
        .remark, "database", "there is no private PostgreSQL yet",
        advice: "the first start makes one in the data directory; or set DATABASE_URL")

    static func database(_ facts: DatabaseFacts, asked: Timestamp, answered: Timestamp) -> [Finding] {
        let milliseconds = (answered.microseconds - asked.microseconds) / 1000
        var findings = [
            facts.release < DatabaseFacts.oldestRelease
                ? Finding(
                    .wrong, "database", "PostgreSQL \(facts.version) is too old",
                    advice: "upgrade it to \(DatabaseFacts.oldestRelease) or later")
                : Finding(.good, "database", "PostgreSQL \(facts.version) answers in \(milliseconds) ms")
        ]
        // Between the question and its answer, any time is right.
        let ahead = asked.microseconds - facts.now.microseconds
        let behind = facts.now.microseconds - answered.microseconds
        let skew = Duration.microseconds(max(ahead, behind, 0))
        findings.append(
            skew > allowedSkew
                ? Finding(
                    .wrong, "clock", "it differs from the database's by \(Int(skew / .seconds(1))) s",
                    advice: "let both machines keep the time (chrony, systemd-timesyncd)")
                : Finding(.good, "clock", "as the database's"))
        return findings
    }

    /// Nil where none is named.
    static func objectStore(_ settings: Settings) async -> Finding? {
        guard let store = settings.s3 else { return nil }
        let session = Session(configuration: S3BlobStore.sessionConfiguration(settings.session))
        switch await S3BlobStore.health(of: store, session: session) {
        case .good: return Finding(.good, "object store", "it serves the bucket \(store.bucket)")
        case .away:
            return Finding(
                .wrong, "object store", "\(store.origin) does not answer",
                advice: "start it, or see to the network; jobs with larger bodies wait meanwhile")
        case .refused(let reason):
            return Finding(
                .wrong, "object store", reason,
                advice: "correct S3_ACCESS_KEY, S3_SECRET_KEY, S3_SESSION_TOKEN, S3_REGION or S3_BUCKET, or let the "
                    + "key list, read and write the bucket; the node is not ready until then")
        }
    }

    static func volumes(_ lost: [LostVolume]) -> [Finding] {
        lost.map { lost in
            Finding(
                .wrong, "bodies", "\(lost.count) are in the volume \(lost.volume), which no node has that runs",
                advice: "start its node again, or another one with its DATA_DIRECTORY; until then they get 503")
        }
    }

    static func roles(_ missing: [NodeRole]) -> [Finding] {
        missing.map { role in
            let outcome =
                switch role {
                case .api: "clients are not answered"
                case .worker: "jobs wait"
                case .courier: "webhooks are not sent"
                case .scheduler: "schedules make no jobs, and nothing expires"
                }
            return Finding(
                .wrong, "roles", "no node that runs has the role \(role.rawValue): \(outcome)",
                advice: "start one with FETCHD_ROLES=\(role.rawValue), or without FETCHD_ROLES")
        }
    }

    static func migrations(_ pending: [String], migrates: Bool) -> Finding {
        guard let first = pending.first else { return Finding(.good, "schema", "up to date") }
        return Finding(
            migrates ? .remark : .wrong, "schema", "\(pending.count) migrations are missing, \(first) the first",
            advice: migrates ? "the next start makes them, or run: fetchd migrate" : "run: fetchd migrate")
    }
}
