import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What the answers to bad requests say of the inside of the service.
@Suite(.timeLimit(.minutes(4))) struct ErrorContentTests {
    private static let corpora = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fuzz").standardizedFileURL

    /// The inputs that the fuzzer has found or started from, of all its targets.
    private static func corpus() throws -> [String] {
        let files = try #require(FileManager.default.enumerator(at: corpora, includingPropertiesForKeys: nil))
        return files.compactMap { $0 as? URL }.filter { !$0.path.contains("/Harness/") && !$0.hasDirectoryPath }
            .sorted { $0.path < $1.path }
            .compactMap { try? Data(contentsOf: $0) }.map { String(decoding: $0.prefix(20_000), as: UTF8.self) }
    }

    /// For any part of a URL.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { String(format: "%%%02X", $0) }.joined()
    }

    /// What no answer has, unless it quotes its request.
    private static let inner = [
        #"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|ON CONFLICT|LEFT JOIN|RETURNING)\b"#,
        #"(?i)\b(?:libpq|sqlstate|pg_catalog|plpgsql|psql|postgres(?:ql)?)\b"#, #"relation "|violates .* constraint"#,
        #"[\w/]+\.(?:swift|sql|so)\b"#, #"(?i)fatal error|stack trace|backtrace|Thread \d+"#, #"\b0x[0-9a-f]{6,}"#,
        #"\b(?:Swift|Foundation|Fetch\w+|Postgres|NIO\w*|Hummingbird)\.\w+"#, #"DecodingError|NSError|Optional\("#,
    ]

    private static let paths: [(HTTPRequest.Method, String)] = [
        (.post, "/v1/jobs"), (.post, "/v1/jobs/actions"), (.post, "/v1/explain"), (.post, "/v1/schedules"),
        (.post, "/v1/groups"), (.post, "/v1/sessions"), (.post, "/v1/cookies"), (.post, "/v1/cookies/import"),
        (.post, "/v1/cookies/parse"), (.post, "/v1/credentials"), (.post, "/v1/keys"), (.post, "/v1/cache/entries"),
        (.post, "/v1/webhooks/endpoints"), (.post, "/v1/webhooks/deliveries/replay"), (.put, "/v1/hosts/a.example"),
        (.put, "/v1/admin/egress"), (.put, "/v1/admin/rules"), (.put, "/v1/admin/protocols/a"),
        (.patch, "/v1/admin/tenants/nobody"), (.post, "/v1/questions/actions"), (.post, "/v2/batch"),
    ]

    // Proves: SEC-46.
    @Test func `no answer to the corpus of the fuzzer shows code, SQL, paths, addresses or other tenants`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key(scopes: .all))
            // Nothing is loaded, whatever the corpus asks for.
            _ = try await place.run("queue", "pause")
            let neighbour = "neighbour-\(UUID())"
            let other = try await service.request(
                .post, "/v1/sessions", body: "{}", key: try await place.key(tenant: neighbour))
            let secrets = [
                place.directory, place.database.name, place.database.connectionString, neighbour,
                try #require(member(other.json, "id", as: String.self), "\(other.text)"),
                try #require(place.environment["FETCHD_MASTER_KEYS"]), FileManager.default.currentDirectoryPath,
                NSTemporaryDirectory(), ServiceProcess.program,
            ]
            let patterns = try Self.inner.map { try Regex($0) }
            var refused = 0
            func look(_ answer: ServiceProcess.Answer, to input: String, at path: String) {
                #expect(answer.status < 500, "\(path): \(input.prefix(200)): \(answer.text.prefix(500))")
                if answer.status >= 400 { refused += 1 }
                let text = answer.text + answer.headers.map(\.value).joined(separator: "\n")
                for secret in secrets { #expect(!text.contains(secret), "\(path): \(secret)") }
                for pattern in patterns {
                    for found in text.matches(of: pattern) where !input.contains(text[found.range]) {
                        Issue.record("\(path) shows \(text[found.range]): \(answer.text.prefix(500))")
                    }
                }
            }
            let inputs = try Self.corpus()
            #expect(inputs.count > 150)
            for input in inputs {
                for (method, path) in Self.paths {
                    look(try await service.request(method, path, body: input), to: input, at: path)
                }
                let lines = try await service.request(
                    .post, "/v1/jobs/batch", body: input, headers: [.contentType: "application/x-ndjson"])
                look(lines, to: input, at: "/v1/jobs/batch")
                let text = Self.encoded(String(input.unicodeScalars.prefix(1000)))
                for path in ["/v1/jobs?cursor=", "/v1/jobs?", "/v1/jobs/", "/v1/audit?after=", "/dashboard/jobs?q="] {
                    look(try await service.request(.get, path + text), to: input, at: path)
                }
            }
            #expect(refused > 10 * inputs.count)
            #expect(try await service.stop() == 0)
        }
    }
}
