import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The audit log outside of the database, from the request to the check of the file.
@Suite(.timeLimit(.minutes(2))) struct AuditSinkTests {
    /// Leaves so many entries.
    private func act(_ count: Int, _ service: ServiceProcess) async throws {
        for number in 0..<count {
            let answer = try await service.request(
                .post, "/v1/credentials",
                body: #"{"protectionSpace": {"host": "a\#(number).example", "port": 80, "protocol": "http", "#
                    + #""authenticationMethod": "httpBasic"}, "user": "u", "password": "unsaid"}"#)
            #expect(answer.status == 201, "\(answer.text)")
        }
    }

    private func sequences(_ text: String) -> Set<Int64> {
        Set(
            text.split(separator: "\n").compactMap { line in
                let entry = AuditEntry(line: line.drop { $0 != "{" }.utf8)
                return entry.flatMap { $0.action == "credentials.set" ? $0.sequence : nil }
            })
    }

    @Test(.enabled(if: LoopbackServer.rsyslogd != nil))
    func `file and syslog get all, whatever is moved, killed and away, and the file is proof of it`() async throws {
        let directory = try TemporaryDirectory()
        let port = try LoopbackServer.freePort()
        let (file, moved) = (directory.file("audit.ndjson"), directory.file("audit.ndjson.1"))
        let settings = ["AUDIT_FILE": file, "AUDIT_SYSLOG": "tcp://127.0.0.1:\(port)"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            try await act(20, first)
            try await until { sequences(directory.text(of: "audit.ndjson")).count == 20 }
            // As logrotate does; nobody is told.
            #expect(rename(file, moved) == 0)
            // Its syslog daemon is away, which does not make it unready.
            var remark = ""
            try await until {
                let ready = try await first.request(.get, "/readyz")
                #expect(ready.status == 200)
                remark = ready.text
                return remark.contains("remarks")
            }
            #expect(remark.contains("syslog cannot be written") && !remark.contains("127.0.0.1"), "\(remark)")
            try await act(20, first)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let daemon = try await LoopbackServer.rsyslogd(in: directory, port: port)
            try await place.database.client.query("UPDATE audit_sinks SET lease_until = now() - interval '1 s'")
            let second = try await ServiceProcess.start(place, key: key)
            try await act(20, second)
            try await until { sequences(directory.text(of: LoopbackServer.syslogFile)).count == 60 }
            #expect(try await second.stop() == 0)
            let texts = ["audit.ndjson.1", "audit.ndjson"].map { directory.text(of: $0) }
            #expect(sequences(texts.joined()).count == 60)
            #expect(!texts.joined().contains("unsaid"))
            let inFiles = try await place.run("audit", "verify", "--file", moved, "--file", file)
            let inDatabase = try await place.run("audit", "verify")
            // The chain of the tenant, which comes after that of the service.
            #expect(inFiles.split(separator: "\n").last == inDatabase.split(separator: "\n").last)
            #expect(inFiles.contains("are intact"))
            try directory.write(texts[1].replacing("a19.example", with: "b19.example"), to: "forged")
            let forged = try await ProgramEnd.of(
                ["audit", "verify", "--file", moved, "--file", directory.file("forged")],
                place.environment)
            #expect(forged.status == 1 && forged.output.contains("is changed"), "\(forged.output)")
            withExtendedLifetime(daemon) {}
        }
    }

    @Test(.enabled(if: LoopbackServer.rsyslogdTLS != nil))
    func `syslog by TLS gets all, and a start without usable files says which`() async throws {
        let directory = try TemporaryDirectory()
        let authority = try await TestAuthority()
        let (server, client) = (try await authority.issue("server"), try await authority.issue("client"))
        let port = try LoopbackServer.freePort()
        let daemon = try await LoopbackServer.rsyslogd(in: directory, port: port, server, of: authority)
        let settings = [
            "AUDIT_SYSLOG": "tls://localhost:\(port)", "AUDIT_SYSLOG_ISSUERS": authority.certificatePath,
            "AUDIT_SYSLOG_CERTIFICATE": client.certificatePath, "AUDIT_SYSLOG_KEY": client.keyPath,
        ]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let key = try await place.key()
            let open = try await ProgramEnd.of(["serve"], place.environment)
            #expect(open.status == 78 && open.errors.contains("AUDIT_SYSLOG_KEY: "), "\(open.errors)")
            #expect(chmod(client.keyPath, 0o600) == 0)
            for (name, value) in [
                ("AUDIT_SYSLOG_ISSUERS", "/nowhere"), ("AUDIT_SYSLOG_CERTIFICATE", client.keyPath),
            ] {
                let environment = place.environment.merging([name: value]) { $1 }
                let end = try await ProgramEnd.of(["serve"], environment)
                #expect(end.status == 78 && end.errors.contains("\(name): \(value)"), "\(end.errors)")
            }
            let service = try await ServiceProcess.start(place, key: key)
            try await act(20, service)
            try await until { sequences(directory.text(of: LoopbackServer.syslogFile)).count == 20 }
            #expect(try await service.stop() == 0)
        }
        withExtendedLifetime(daemon) {}
    }
}
