import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Secrets are planted through every input that takes one, and searched for in everything that the service leaves.
@Suite(.timeLimit(.minutes(4))) struct CanaryTests {
    /// Where the contract shows a secret, and why.
    private static let shown: [(input: String, output: String, reason: String)] = [
        ("cookie that is set", "GET /v1/cookies", "clients read the cookies of their jars"),
        ("cookie that is imported", "GET /v1/cookies", "clients read the cookies of their jars"),
        ("Set-Cookie", "GET /v1/cookies", "clients read the cookies of their jars"),
        (
            "cookie that is read", "POST /v1/cookies/parse",
            "the answer says how the line is read, and nothing is stored"
        ),
        ("secret of the endpoint", "POST /v1/webhooks/endpoints", "a new secret is shown once"),
        ("secret of a protocol", "PUT /v1/admin/protocols/", "a new secret is shown once"),
        ("secret of a protocol", "POST /v1/admin/protocols/", "a new secret is shown once"),
        ("name of a member", "POST /v1/jobs ", "a problem names the members that it refuses"),
        ("key of the API", "POST /v1/keys", "a new key is shown once"),
        ("signing key", "GET /v2/keys", "receivers need them"),
        ("signing key", "POST /v2/keys/rotate", "receivers need them"),
        ("token of a stream", "POST /v1/jobs/id/events/token", "a new token is shown once"),
    ]

    /// The outputs that show what is not secret, so that the search would find secrets there.
    private static let places = [
        "dump", "GET |v1|jobs|id ", "|har", "|explain", "|export", "|dashboard|jobs|id ", "|endpoints", "|schedules",
    ]

    private static func isShown(_ finding: Canaries.Finding) -> Bool {
        shown.contains {
            finding.input.contains($0.input)
                && finding.file.contains("/" + $0.output.replacing("/", with: "|"))
        }
    }

    // With all values outside of compressed pages, so that the files of the database show them as they are.
    // Proves: SEC-60, SEC-32, SEC-50, SEC-52, SEC-46.
    @Test func `no secret is found outside of its ciphertext, whatever input it came by`() async throws {
        let (canaries, own) = (try Canaries(), try Canaries())
        let receiver = try CanaryScene.receiver(canaries)
        let origin = try CanaryScene.origin(canaries, redirectingTo: receiver)
        let authority = try await TestAuthority()
        let tls = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: ["ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client optional"])
        let passwords = (
            canaries("password of a proxy", isSent: false), canaries("password of a SOCKS proxy", isSent: false)
        )
        let tinyproxy = try await LoopbackServer.tinyproxy(user: ("u", passwords.0))
        let microsocks = try await LoopbackServer.microsocks(user: "u", password: passwords.1)
        let realm = try await KerberosRealm()
        let apache = try await LoopbackServer.apache(realm: realm)
        let ftp = try await LoopbackServer.ftp(.pyftpdlib, files: [:])
        let ports = [ftp.port, apache.port, origin.port, receiver.port, tls.port, tinyproxy.port, microsocks.port]
        let settings = ["LOG_LEVEL": "trace", "SCHEMES_FTP": "true", "KERBEROS_REALMS": realm.setting]
        let rules = ports.map { "127.0.0.1:\($0)" } + ["localhost", realm.address]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { plain in
            let place = plain.connecting(with: canaries("password of the database", isSent: false))
            try await Self.storeUncompressed(place.database.client)
            let key = try await place.key(scopes: .all)
            canaries.add("API key", Array(key.utf8))
            canaries.add(
                "master key", base64: try #require(place.environment["FETCHD_MASTER_KEYS"]).dropFirst("1:".count))
            let service = try await ServiceProcess.start(place, key: key)
            let scene = CanaryScene(
                place: place, service: service, canaries: canaries, own: own, origin: origin, other: receiver)
            var jobs = try await scene.plantRequests(endpoint: try await scene.endpoint("/hook"))
            let dead = #", "webhook": {"endpoint": "\#(try await scene.endpoint("/dead"))"}"#
            jobs.append(try await scene.submit(scene.request("/ok", of: "a job for a dead endpoint"), more: dead))
            let session = try await scene.make("/v1/sessions", "{}")
            jobs += try await scene.plantCredentials(session)
            jobs += try await scene.plantCertificates(authority, tls)
            jobs += try await scene.plantProxies((tinyproxy, passwords.0), (microsocks, passwords.1))
            jobs += try await scene.plantCookies(session)
            jobs += try await scene.plantKerberos(realm, apache)
            jobs += try await scene.plantFTP(ftp)
            jobs += try await scene.plantEphemeral()
            jobs += try await scene.plantAnswers()
            jobs += try await scene.plantProtocol()
            jobs += try await scene.plantMessage()
            jobs += try await scene.plantKeys()
            try await scene.plantLink()
            try await scene.plantRefused()
            for job in jobs { _ = try await service.end(of: job) }
            try await scene.plantStreamToken(of: jobs[0])
            try await scene.look(at: jobs, session: session, key: key)
            #expect(try await service.stop() == 0)
            try scene.keepLog()
            try scene.keepSent([origin, receiver])

            #expect(canaries.count >= 40)
            #expect(try await canaries.missing() == [], "they were sent, so the search has to find them")
            try await place.database.client.query("CHECKPOINT")
            let everywhere = [try #require(place.database.directory), place.directory, canaries.outputs.path]
            let found = try await canaries.find(in: everywhere)
            #expect(found.filter { !Self.isShown($0) } == [])
            for one in Self.shown { #expect(found.contains { $0.input.contains(one.input) }, "\(one)") }
            // What is not secret is found everywhere, but not where operators look.
            let visible = try await own.find(in: everywhere)
            for place in Self.places + [everywhere[0], everywhere[1]] {
                #expect(visible.contains { $0.file.contains(place) }, "\(place)")
            }
            #expect(try await own.find(in: [own.outputs.path]) == [])
        }
    }

    // What the service's own environment has is the operator's, and no business of PostgreSQL's.
    // Proves: SEC-60.
    @Test func `the programs that the service starts are given none of its secrets`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let canaries = try Canaries()
            let key = try await place.run("keys", "generate")
            canaries.add("bootstrap key", Array(key.utf8))
            let secrets = [
                "FETCHD_BOOTSTRAP_KEY": key, "PGPASSWORD": canaries("password of PostgreSQL"),
                "HTTPS_PROXY": "http://u:\(canaries("password of a proxy"))@a.example",
            ]
            let alone = place.alone
            let service = try await ServiceProcess.start(
                .init(
                    database: place.database, directory: alone.directory,
                    environment: alone.environment.merging(secrets) { $1 }), key: key)
            let processes = try CanaryScene.processes(below: service.processID)
            #expect(processes.contains("supervise-postgres") && processes.contains("\n-D\n"))
            try canaries.keep(processes, as: "processes")
            #expect(try await service.stop() == 0)
            try canaries.keep(service.logged, as: "log")
            let found = try await canaries.find(in: [canaries.outputs.path, alone.directory])
            #expect(found == [])
        }
    }

    // As far as the system lets a process leave one; what is deployed says so too.
    // Proves: SEC-62, SEC-60.
    @Test(arguments: [SIGSEGV, SIGABRT, SIGILL])
    func `a crash leaves no memory behind, neither in a core nor in the log`(_ signal: Int32) async throws {
        let (canaries, gate) = (try Canaries(), Gate())
        defer { gate.open() }
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let origin = try CanaryScene.serving { _, _ in
            arrival.yield()
            try? gate.wait()
            return "HTTP/1.1 204 No Content\r\n\r\n"
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let directory = try TemporaryDirectory()
            let script = #"cd "$0" && ulimit -c "$(ulimit -H -c)" && exec "$@""#
            let service = try await ServiceProcess.start(
                place, key: try await place.key(), by: ["/bin/sh", "-c", script, directory.path])
            let limits = try String(contentsOfFile: "/proc/\(service.processID)/limits", encoding: .utf8)
            #expect(limits.contains(#/Max core file size +1 +1 /#), "\(limits)")
            let scene = CanaryScene(
                place: place, service: service, canaries: canaries, own: canaries, origin: origin, other: origin)
            _ = try await scene.submit(scene.request("/ok", of: "a job"))
            _ = try #require(await arrivals.first { true })
            let began = ContinuousClock.now
            service.send(signal)
            #expect(try await service.waitForEnd() == -signal)
            #expect(ContinuousClock.now - began < .seconds(5))
            try canaries.keep(service.logged, as: "log")
            #expect(try directory.names() == [])
            let found = try await canaries.find(in: [canaries.outputs.path, place.directory])
            #expect(found == [])
        }
    }

    @Test func `the search finds a secret in every form`() async throws {
        let canaries = try Canaries()
        for length in 20...22 { canaries.add("\(length)", Array(Canary.text().utf8) + (0..<UInt8(length - 20))) }
        let expected = try canaries.keepForms(in: canaries.outputs)
        let found = try await canaries.find(in: [canaries.outputs.path])
        #expect(expected.count >= 27 && Set(found.map { URL(filePath: $0.file).lastPathComponent }) == expected)
    }

    /// Has the database store all values as they are.
    private static func storeUncompressed(_ client: Client) async throws {
        // The rows of a distributed table are in its shards, which the table does not pass a change on to.
        let isDistributed: Query =
            TestDatabase.hasCitus ? "EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = c.oid)" : "false"
        try await client.query(
            """
            DO $$
            DECLARE
                part record;
                change text := 'ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL';
            BEGIN
                FOR part IN
                    SELECT c.oid::regclass AS name, a.attname, \(isDistributed) AS is_distributed
                    FROM pg_class c
                    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attlen = -1 AND NOT a.attisdropped
                    JOIN pg_type t ON t.oid = a.atttypid AND t.typstorage <> 'p'
                    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                LOOP
                    IF part.is_distributed THEN
                        PERFORM run_command_on_shards(part.name, format(change, '%s', part.attname));
                    ELSE
                        EXECUTE format(change, part.name, part.attname);
                    END IF;
                END LOOP;
            END
            $$
            """)
    }
}

extension ServiceProcess.Place {
    /// The same with a password for the database, which does not ask for one.
    fileprivate func connecting(with password: String) -> Self {
        let url = "\(database.connectionString) password=\(password)"
        return Self(
            database: database, directory: directory, environment: environment.merging(["DATABASE_URL": url]) { $1 })
    }
}
