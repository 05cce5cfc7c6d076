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
}
