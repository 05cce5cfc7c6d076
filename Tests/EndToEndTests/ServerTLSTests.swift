import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The API over TLS, asked by curl, which is no part of the service.
@Suite(.timeLimit(.minutes(2))) struct ServerTLSTests {
    /// What curl was answered: the last line of its output has status and version.
    private struct Answer {
        let text: String
        let status: String
        let version: String
    }

    private struct Refused: Error {
        let status: Int32
        let errors: String
    }

    private static let format = #"\n%{http_code} %{http_version}"#

    /// - Throws: When curl was not answered.
    private static func curl(_ arguments: [String]) async throws -> Answer {
        let (output, errors, status) = try await onThread {
            let program = try Program(
                ["/usr/bin/curl", "--silent", "--show-error", "--max-time", "60", "--write-out", format] + arguments,
                readsOutput: true, readsErrors: true)
            return (program.output(), program.errors(), program.waitForEnd())
        }
        guard status == 0 else { throw Refused(status: status, errors: errors) }
        let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
        let end = lines.last?.split(separator: " ") ?? []
        return Answer(
            text: lines.dropLast().joined(separator: "\n"), status: String(end.first ?? ""),
            version: String(end.last ?? ""))
    }

    private struct Rig {
        let place: ServiceProcess.Place
        let service: ServiceProcess
        let authority: TestAuthority
        let key: String

        /// Asks the service, whose certificate must be of the authority.
        func curl(_ path: String, _ arguments: String...) async throws -> Answer {
            try await ServerTLSTests.curl(
                ["--cacert", authority.certificatePath, "-H", "Authorization: Bearer \(key)"] + arguments
                    + [service.base + path])
        }
    }

    /// The settings of a service that shows a certificate.
    private static func settings(_ leaf: TestAuthority.Leaf, _ more: [String: String] = [:]) throws -> [String: String]
    {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: leaf.keyPath)
        return ["SERVER_TLS_CERTIFICATE": leaf.certificatePath, "SERVER_TLS_KEY": leaf.keyPath].merging(more) { $1 }
    }

    private func with(_ rules: [String] = [], _ body: (Rig) async throws -> Void) async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("server")
        try await ServiceProcess.Place.with(allowing: rules, settings: try Self.settings(leaf)) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            try await body(Rig(place: place, service: service, authority: authority, key: key))
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    @Test func `clients choose HTTP/2 or HTTP/1.1, over TLS 1.2 or 1.3, and each answers alike`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        try await with(["127.0.0.1:\(origin.port)"]) { rig in
            for (version, expected) in [("--http1.1", "1.1"), ("--http2", "2")] {
                for tls in ["1.2", "1.3"] {
                    let job = try await rig.curl(
                        "/v1/jobs", version, "--tls-max", tls, "-H", "Content-Type: application/json", "-H",
                        "Prefer: wait=30", "--data", #"{"request": {"url": "\#(origin.url("/a"))"}}"#)
                    #expect(job.status == "201" && job.version == expected, "\(job)")
                    let json = try JSONSerialization.jsonObject(with: Data(job.text.utf8)) as? [String: Any] ?? [:]
                    let id = try #require(member(json, "id", as: String.self), "\(job)")
                    let body = try await rig.curl("/v1/jobs/\(id)/body", version)
                    #expect(body.text == "hello" && body.version == expected)
                    // A stream that ends by itself, since the job has ended.
                    let events = try await rig.curl("/v1/jobs/\(id)/events", version)
                    #expect(events.status == "200" && events.text.contains("event: "), "\(events)")
                }
                for (path, status) in [("/v1/jobs/none", "404"), ("/nowhere", "404"), ("/v1/jobs?limit=x", "400")] {
                    let problem = try await rig.curl(path, version)
                    #expect(problem.status == status && problem.version == expected, "\(problem)")
                    #expect(problem.text.contains(#""code":""#), "\(problem)")
                }
            }
            await #expect(throws: Refused.self) { try await rig.curl("/healthz", "--tls-max", "1.1") }
            // Without TLS there is nobody.
            await #expect(throws: Refused.self) {
                try await Self.curl([rig.service.base.replacing("https", with: "http") + "/healthz"])
            }
        }
    }

    @Test func `a blob of some megabytes goes in and comes out over HTTP/2`() async throws {
        try await with { rig in
            let content = pattern(5_000_000)
            let file = try TemporaryDirectory()
            try Data(content).write(to: URL(filePath: file.file("blob")))
            let made = try await rig.curl(
                "/v1/blobs", "--http2", "-H", "Content-Type: application/octet-stream", "--data-binary",
                "@\(file.file("blob"))")
            #expect(made.status == "201" && made.version == "2", "\(made)")
            let json = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any] ?? [:]
            let id = try #require(member(json, "id", as: String.self), "\(made)")
            let read = try await rig.curl("/v1/blobs/\(id)", "--http2", "--output", file.file("read"))
            #expect(read.status == "200")
            #expect(file.contents(of: "read") == content)
        }
    }

    @Test func `a certificate that is renewed is shown to who connects next, and a broken file changes nothing`()
        async throws
    {
        try await with { rig in
            let leaf = try await rig.authority.issue("renewed")
            let served = try #require(rig.place.environment["SERVER_TLS_CERTIFICATE"])
            let key = try #require(rig.place.environment["SERVER_TLS_KEY"])
            func shown() async throws -> String {
                try await onThread {
                    let program = try Program(
                        ["/bin/sh", "-c", "openssl s_client -connect \(rig.service.address) </dev/null 2>/dev/null"],
                        readsOutput: true)
                    defer { _ = program.waitForEnd() }
                    return program.output()
                }
            }
            #expect(try await shown().contains("CN = server"))
            try Data("broken".utf8).write(to: URL(filePath: served))
            try await until { rig.service.logged.contains("the one before stays") }
            #expect(try await shown().contains("CN = server"))
            #expect(try await rig.curl("/healthz").status == "200")
            try Data(leaf.key).write(to: URL(filePath: key))
            try Data(leaf.certificate).write(to: URL(filePath: served))
            try await until { rig.service.logged.contains("The certificate was read again") }
            #expect(try await shown().contains("CN = renewed"))
            #expect(try await rig.curl("/healthz").status == "200")
        }
    }

    @Test func `where issuers of clients are named, nobody connects without a certificate, and nodes show theirs`()
        async throws
    {
        let (gate, half) = (Gate(), String(repeating: "x", count: 250_000))
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n\(half)")
                try gate.wait()
                try connection.send(half)
            }
        }
        let (authority, stranger) = (try await TestAuthority(), try await TestAuthority(name: "Another"))
        let leaf = try await authority.issue("node")
        let settings = try Self.settings(
            leaf,
            [
                "SERVER_TLS_CLIENT_ISSUERS": authority.certificatePath,
                "FETCHD_NODE_ISSUERS": authority.certificatePath,
            ])
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let owner = try await ServiceProcess.start(place, key: key)
            let other = try await ServiceProcess.start(place, key: key)
            let client = try await authority.issue("client")
            let foreign = try await stranger.issue("foreign")
            let common = ["--cacert", authority.certificatePath, "-H", "Authorization: Bearer \(key)"]
            func curl(_ leaf: TestAuthority.Leaf, _ arguments: [String]) async throws -> Answer {
                try await Self.curl(common + ["--cert", leaf.certificatePath, "--key", leaf.keyPath] + arguments)
            }
            await #expect(throws: Refused.self) { try await Self.curl(common + [owner.base + "/healthz"]) }
            await #expect(throws: Refused.self) { try await curl(foreign, [owner.base + "/healthz"]) }
            // The node that takes a job runs it; the other one asks it.
            let made = try await curl(
                client,
                [
                    "-H", "Content-Type: application/json", "--data",
                    #"{"request": {"url": "\#(origin.url("/grows"))"}}"#, owner.base + "/v1/jobs",
                ])
            #expect(made.status == "202", "\(made)")
            let json = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any] ?? [:]
            let id = try #require(member(json, "id", as: String.self), "\(made)")
            try await until {
                try await curl(client, ["--head", other.base + "/v1/jobs/\(id)/body"]).status == "200"
            }
            gate.open()
            func body() async throws -> Answer {
                try await curl(client, ["--http2", other.base + "/v1/jobs/\(id)/body"])
            }
            var read = try await body()
            // Between its end and the storing of its result.
            while read.status == "409" { read = try await body() }
            #expect(read.text == half + half && read.version == "2", "\(read.status) \(read.version)")
            for service in [owner, other] { #expect(try await service.stop() == 0, "\(service.logged)") }
        }
    }

    @Test func `files that cannot be used end the start, and the error names the setting`() async throws {
        let authority = try await TestAuthority()
        let (leaf, other) = (try await authority.issue("server"), try await authority.issue("other"))
        let sound = try Self.settings(leaf)
        let open = other.keyPath
        for (changes, words) in [
            (["SERVER_TLS_KEY": nil], ["SERVER_TLS_CERTIFICATE", "SERVER_TLS_KEY"]),
            (["SERVER_TLS_CERTIFICATE": "/nowhere.pem"], ["SERVER_TLS_CERTIFICATE", "/nowhere.pem"]),
            (["SERVER_TLS_KEY": "/nowhere.key"], ["SERVER_TLS_KEY", "/nowhere.key"]),
            (["SERVER_TLS_KEY": open], ["SERVER_TLS_KEY", "chmod o="]),
            (["SERVER_TLS_CERTIFICATE": other.certificatePath], ["SERVER_TLS_CERTIFICATE"]),
            (["FETCHD_NODE_ISSUERS": leaf.keyPath], ["FETCHD_NODE_ISSUERS", "no certificate"]),
        ] as [([String: String?], [String])] {
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
            try await ServiceProcess.Place.with(allowing: [], settings: sound) { place in
                var environment = place.environment
                for (name, value) in changes { environment[name] = value }
                let end = try await ProgramEnd.of(["serve"], environment)
                #expect(end.status == 78, "\(changes): \(end.errors)")
                for word in words { #expect(end.errors.contains(word), "\(changes): \(end.errors)") }
            }
        }
    }
}
