import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The start of the service, and the errors when it cannot start.
@Suite struct StartTests {
    @Test func `a database that cannot be reached is an error with its own exit code`() async throws {
        try await ServiceProcess.Place.with(
            allowing: [],
            settings: ["DATABASE_URL": "host=127.0.0.1 port=9 user=nobody"]
        ) { place in
            let end = try await ProgramEnd.of(["serve"], place.environment)
            #expect(end.status == 69)
            #expect(end.errors.contains("the database cannot be reached"))
        }
    }

    // Which values are wrong the tests of settings say; these are read from elsewhere too.
    @Test func `a wrong setting is named`() async throws {
        let settings = [
            (["GUARD_ALLOW": "127.0.0.0/8"], "such as 127.0.0.1:8080"), (["GUARD_ALLOW": "127.0.0.1"], "GUARD_ALLOW"),
            (["GUARD_ALLOW": "localhost"], "A name opens no address"),
            (["KERBEROS_REALMS": "A.EXAMPLE=10.0.0.5"], "GUARD_ALLOW=10.0.0.5:88"),
            (["WORKER_CONCURRENCY": "0"], "WORKER_CONCURRENCY: \"0\" is not a whole number from 1 to 100000"),
            (["RETENTION_DAYS": "nan"], "RETENTION_DAYS: \"nan\" is not a number of days from 0.01 to 36500"),
            (["SERVER_MAXIMUM_CONNECTIONS": "999999999"], "SERVER_MAXIMUM_CONNECTIONS: 999999999 is more than"),
            (["WORKER_CONCURENCY": "5"], "WORKER_CONCURENCY: there is no such setting; is it WORKER_CONCURRENCY?"),
            (["S3_BUCKET": "b"], "S3_ENDPOINT: it needs S3_BUCKET"),
            (["FETCHD_CRASH_AT": "nowhere"], "FETCHD_CRASH_AT: there is no such"),
            (["FETCHD_MASTER_KEYS": "1:c2hvcnQ="], "FETCHD_MASTER_KEYS"),
        ]
        try await ServiceProcess.Place.with(allowing: []) { place in
            for (setting, name) in settings {
                let end = try await ProgramEnd.of(["serve"], place.environment.merging(setting) { $1 })
                #expect(end.status == 78, "\(setting)")
                #expect(end.errors.contains(name))
                #expect(!end.errors.contains("c2hvcnQ="))
            }
        }
    }

    // Proves: SEC-53.
    @Test func `a password of the database that anybody would try first is refused, and not told`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            for (setting, name) in [
                (["DATABASE_URL": "postgres://fetchd:mysecretpassword@192.0.2.1/jobs"], "DATABASE_URL"),
                (["DATABASE_URL": "host=192.0.2.1 user=u", "PGPASSWORD": "mysecretpassword"], "DATABASE_URL"),
                (["DATABASE_DIRECT_URL": "postgres://mysecretpassword:mysecretpassword@db/x"], "DATABASE_DIRECT_URL"),
            ] {
                let end = try await ProgramEnd.of(["serve"], place.environment.merging(setting) { $1 })
                #expect(end.status == 78 && end.errors.contains("\(name): the password of the database"), "\(end)")
                #expect(!end.errors.contains("mysecretpassword"))
            }
        }
    }

    @Test func `without a key the service listens on this machine only`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let end = try await ProgramEnd.of(["serve", "--host", "0.0.0.0"], place.environment)
            #expect(end.status == 78)
            #expect(end.errors.contains("fetchd keys create"))
        }
    }

    // The rules of deploy/README.md for containers, with the environment of deploy/Dockerfile and compose.yaml.
    @Test func `a container begins with the key that it is brought, and with no other`() async throws {
        let settings = ["SERVER_HOST": "0.0.0.0"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let first = try await place.run("keys", "generate")
            var environment = place.environment
            environment["FETCHD_BOOTSTRAP_KEY"] = first.dropLast() + (first.hasSuffix("0") ? "1" : "0")
            let wrong = try await ProgramEnd.of(["serve"], environment)
            #expect(wrong.status == 78 && wrong.errors.contains("FETCHD_BOOTSTRAP_KEY"))
            #expect(!wrong.errors.contains(first.dropLast(9)))
            func bringing(_ key: String) -> ServiceProcess.Place {
                var environment = place.environment
                environment["FETCHD_BOOTSTRAP_KEY"] = key
                return .init(database: place.database, directory: place.directory, environment: environment)
            }
            let other = try await place.run("keys", "generate")
            for (brought, statuses) in [(first, [200, 401]), (first, [200, 401]), (other, [200, 401])] {
                let service = try await ServiceProcess.start(bringing(brought), key: first)
                for (key, status) in zip([first, other], statuses) {
                    #expect(try await service.request(.get, "/v1/queue", key: key).status == status)
                }
                #expect(!service.logged.contains(first) && !service.logged.contains(other))
                #expect(try await service.stop() == 0)
            }
            // One that was revoked does not come back.
            let list = try await place.run("keys", "list")
            _ = try await place.run("keys", "revoke", String(try #require(list.split(separator: " ").first)))
            let end = try await ProgramEnd.of(["serve"], bringing(first).environment)
            #expect(end.status == 78 && end.errors.contains("FETCHD_BOOTSTRAP_KEY"))
        }
    }

    @Test func `the service tells of its health, metrics and description`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for path in ["/healthz", "/readyz", "/version", "/metrics", "/openapi.yaml", "/docs", "/dashboard"] {
                let answer = try await service.request(.get, path)
                #expect(answer.status < 400, "\(path)")
            }
        }
    }

    // Proves: SEC-43.
    @Test func `without a valid key nothing is told`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let session = Session()
            var bodies: Set<String> = []
            for authorization in [nil, "Bearer fk_nonsense", "Basic eDp5"] {
                var request = Request(url: try URLRecord(service.base + "/v1/jobs"))
                request.headerFields[.authorization] = authorization
                let (bytes, response) = try await session.data(for: request)
                #expect(response.status.code == 401)
                #expect(response.headerFields[.contentType] == "application/problem+json")
                bodies.insert(String(decoding: bytes, as: UTF8.self).replacing(/urn:request:\w+/, with: ""))
            }
            #expect(bodies.count == 1)
        }
    }
}
