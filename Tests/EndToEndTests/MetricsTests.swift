import FetchRuntime
import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The metrics of a running service.
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    private static func value(_ text: String, _ sample: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }
            .flatMap { Double($0.dropFirst(sample.count + 1)) }
    }

    /// All that may register something is set.
    private static func settings(_ directory: TemporaryDirectory) -> [String: String] {
        [
            "AUDIT_FILE": directory.file("audit"), "JWT_KEYS": directory.file("keys"), "JWT_ISSUER": "i",
            "JWT_AUDIENCE": "a", "JWT_TENANT": "default", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        ]
    }

    @Test func `a running service has every metric of the catalogue and no other, and promtool has nothing to say`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let key = #"{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        try Data(#"{"keys": [\#(key)]}"#.utf8).write(to: URL(filePath: directory.file("keys")))
        let origin = try WireOrigin(playing: "HTTP/1.1 404 Gone\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: Self.settings(directory)
        ) { service in
            _ = try await service.fetch(origin.url("/?secret=sesame"))
            _ = try await service.fetch(
                "http://127.0.0.1:1/", more: #", "configuration": {"retry": {"maximumAttempts": 1}}"#)
            var text = try await service.request(.get, "/metrics").text
            let told = text.matches(of: /\n# TYPE (\w+) (\w+)/).map { "\($0.1) \($0.2)" }
            #expect(told == MetricName.allCases.map { "\($0.rawValue) \($0.entry.kind.rawValue)" }.sorted())
            // An attempt is counted when those who wait for it have been told.
            try await until {
                text = try await service.request(.get, "/metrics").text
                return Self.value(text, #"fetchd_jobs_finished_total{state="failed"}"#) == 1
            }
            #expect(Self.value(text, #"fetchd_attempts_answered_total{status_class="4xx"}"#) == 1)
            let errors = text.matches(of: /\nfetchd_attempt_errors_total\{error="(\w+)"\} 1\n/).map { String($0.1) }
            #expect(errors.count == 1 && errors.first?.hasSuffix("Forbidden") == true, "\(errors)")
            #expect(Self.value(text, #"fetchd_attempts_total{outcome="succeeded"}"#) == 1)
            #expect(Self.value(text, #"fetchd_attempts_total{outcome="failed"}"#) == 1)
            #expect(Self.value(text, #"fetchd_attempts_total{outcome="retried"}"#) == 0)
            #expect(Self.value(text, #"fetchd_connections_total{use="new"}"#) == 1)
            #expect(Self.value(text, #"fetchd_transfers_total{protocol="http/1.1"}"#) == 1)
            #expect(Self.value(text, #"fetchd_transfer_phase_seconds_count{phase="wait"}"#) == 1)
            #expect(Self.value(text, "process_resident_memory_bytes") ?? 0 > 10_000_000)
            #expect(Self.value(text, "process_open_fds") ?? 0 > 10)
            let start = try #require(Self.value(text, "process_start_time_seconds"))
            #expect(abs(start - Date.now.timeIntervalSince1970) < 600)
            #expect(
                Self.value(text, #"fetchd_database_statement_duration_seconds_count{statement="queue.settle"}"#) ?? 0
                    > 0)
            #expect(text.contains(#"fetchd_database_connections{pool="jobs",state="idle"}"#))
            #expect(!text.contains("sesame"))
            try await until {
                text = try await service.request(.get, "/metrics").text
                return Self.value(text, #"fetchd_queue_jobs{state="queued"}"#) != nil
            }
            try text.write(toFile: directory.file("metrics"), atomically: true, encoding: .utf8)
            try await Program.run(["/bin/sh", "-c", "promtool check metrics < \(directory.file("metrics"))"])
        }
    }

    @Test func `a running service counts what its blob store, cache, breakers, schedules and statements do`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let (status, field, body) =
                    if head.hasPrefix("GET /busy ") {
                        ("503 Busy", "Retry-After: 1", [UInt8]())
                    } else {
                        ("200 OK", "Cache-Control: max-age=600", pattern(head.hasPrefix("GET /big ") ? 300_000 : 2000))
                    }
                try connection.send("HTTP/1.1 \(status)\r\n\(field)\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            func metric(_ sample: String) async throws -> Double {
                Self.value(try await service.request(.get, "/metrics").text, sample) ?? -1
            }
            let big = try await service.fetch(origin.url("/big"))
            let href = try #require(member(big, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).body == pattern(300_000))
            for operation in ["create", "write", "finish", "open", "read"] {
                #expect(try await metric("fetchd_blob_operation_seconds_count{operation=\"\(operation)\"}") > 0)
            }
            #expect(try await metric("fetchd_blob_written_bytes_total") >= 300_000)
            #expect(try await metric("fetchd_blob_read_bytes_total") >= 300_000)

            let session = #", "session": "default", "configuration": {"cookies": {"jar": "session"}}"#
            _ = try await service.fetch(origin.url("/small"), more: session)
            try await until { try await metric("fetchd_cache_memory_bytes") > 2000 }

            // Nothing is where a statement looks for it.
            let client = place.database.client
            try await client.query("ALTER TABLE schedules RENAME TO hidden")
            #expect(try await service.request(.get, "/v1/schedules").status >= 500)
            try await client.query("ALTER TABLE hidden RENAME TO schedules")
            #expect(try await metric(#"fetchd_database_failures_total{error="undefined_table"}"#) > 0)

            let schedule = #"{"interval": 1, "job": {"request": {"url": "\#(origin.url("/small"))"}}}"#
            #expect(try await service.request(.post, "/v1/schedules", body: schedule).status == 201)
            try await until { try await metric("fetchd_schedule_lateness_seconds_count") > 0 }

            let retry = #", "configuration": {"retry": {"maximumAttempts": 1}}"#
            _ = try await service.fetch(origin.url("/busy"), more: retry)
            try await until { try await metric(#"fetchd_circuit_signals_total{signal="wait"}"#) == 1 }
            #expect(try await service.stop() == 0)
        }
    }
}
