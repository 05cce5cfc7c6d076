import Foundation
import HTTPTypes
import TestSupport
import Testing

extension CanaryScene {
    /// Asks for everything that the API and the dashboard show, and for a dump of the database.
    func look(at jobs: [String], session: String, key: String) async throws {
        for job in jobs {
            for view in ["", "/har", "/events", "/explain", "/questions"] {
                try await ask(.get, "/v1/jobs/\(job)\(view)")
            }
        }
        for path in [
            "jobs?limit=100", "jobs/export", "jobs/export?form=submission", "questions", "schedules", "groups",
            "sessions", "sessions/\(session)", "sessions/\(session)/answers", "sessions/\(session)/events",
            "cookies?session=\(session)", "cookies/export?session=\(session)", "credentials", "admin/audit",
            "admin/tenants", "admin/protocols", "admin/rules", "admin/egress", "protocols", "cache", "hosts", "flows",
            "queue",
            "webhooks/endpoints", "webhooks/deliveries", "stats",
        ] { try await ask(.get, "/v1/\(path)") }
        for delivery in try await ids(of: "/v1/webhooks/deliveries?limit=100") {
            try await ask(.get, "/v1/webhooks/deliveries/\(delivery)")
        }
        for entry in try await ids(of: "/v1/cache?limit=100") { try await ask(.get, "/v1/cache/entries/\(entry)") }
        try await lookAtDashboard(jobs, key)
        _ = try await make("/v1/blobs", own("blob"), headers: [.contentType: "text/plain"])
        let metrics = try await service.request(.get, "/metrics").text
        #expect(metrics.contains("fetchd_"))
        try canaries.keep(metrics, as: "metrics")
        try own.keep(metrics, as: "metrics")
        try canaries.keep(try Self.processes(below: service.processID), as: "processes")
        try canaries.keep(try await dump(), as: "dump")
    }

    private func ids(of path: String) async throws -> [String] {
        let list = try #require(member(try await ask(.get, path).json, "data", as: [[String: Any]].self))
        return list.compactMap { $0["id"] as? String }
    }

    private func lookAtDashboard(_ jobs: [String], _ key: String) async throws {
        try await ask(
            .post, "/dashboard/sign-in", "key=\(key)",
            headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base])
        for page in ["", "/jobs", "/hosts", "/flows", "/questions"]
            + jobs.map({ "/jobs/\($0)" })
        {
            let answer = try await ask(.get, "/dashboard" + page)
            #expect(answer.text.contains("Sign out"), "\(page)")
        }
    }

    /// The log, once the service has ended.
    func keepLog() throws {
        #expect(service.logged.contains("job_"))
        try canaries.keep(service.logged, as: "log")
        try own.keep(service.logged, as: "log")
    }

    private func dump() async throws -> String {
        let name = place.database.connectionString
        return try await onThread {
            let program = try Program(
                ["/bin/sh", "-c", #"exec "$(pg_config --bindir)/pg_dump" --dbname="$0""#, name], readsOutput: true)
            let output = program.output()
            #expect(program.waitForEnd() == 0 && output.contains("job_partitions"))
            return output
        }
    }

    /// The commands and environments of a process's children, and theirs.
    static func processes(below parent: Int32) throws -> String {
        var text = ""
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let child = Int32(name),
                let status = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let fields = status.split(separator: ")").last?.split(separator: " "), Int32(fields[1]) == parent
            else { continue }
            for file in ["cmdline", "environ"] {
                let content = FileManager.default.contents(atPath: "/proc/\(name)/\(file)") ?? Data()
                text += String(decoding: content, as: UTF8.self).replacing("\0", with: "\n")
            }
            text += try processes(below: child)
        }
        return text
    }
}
