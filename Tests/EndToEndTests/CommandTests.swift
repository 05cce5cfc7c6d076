import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Commands that speak with a running service by its API.
@Suite(.timeLimit(.minutes(4))) struct CommandTests {
    /// A service, and the command line beside it.
    private struct Scene {
        let service: ServiceProcess
        let environment: [String: String]
        let directory: TemporaryDirectory

        static func with(
            allowing others: [String] = [], _ body: (Scene, WireOrigin) async throws -> Void
        ) async throws {
            let origin = try WireOrigin { connection in
                while let head = try connection.receiveHead() {
                    try connection.send(
                        head.hasPrefix("GET /fails ")
                            ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
                            : "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok")
                }
            }
            try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"] + others) { place in
                let key = try await place.key(scopes: Set(Scope.allCases.filter { $0 != .admin }))
                let service = try await ServiceProcess.start(place, key: key)
                var environment = ["PATH": "/usr/bin:/bin", "FETCHD_URL": service.base, "FETCHD_KEY": key]
                environment["HOME"] = place.directory
                let scene = Scene(service: service, environment: environment, directory: try TemporaryDirectory())
                do { try await body(scene, origin) } catch {
                    try await service.stop()
                    throw error
                }
                #expect(try await service.stop() == 0, "\(service.logged)")
                #expect(!service.logged.contains(key))
            }
        }

        func run(_ arguments: String..., without variable: String? = nil) async throws -> ProgramEnd {
            var environment = environment
            if let variable { environment[variable] = nil }
            return try await ProgramEnd.of(arguments, environment)
        }

        /// The output of a command that has to end well, as JSON.
        func json(_ arguments: String...) async throws -> [String: Any] {
            let end = try await ProgramEnd.of(arguments + ["-o", "json"], environment)
            try #require(end.status == 0, "\(end.errors)")
            return try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
        }
    }

    @Test func `a curl command is printed as a job, submitted as one, or refused by the option`() async throws {
        try await Scene.with { scene, origin in
            let command = "curl -sS -o x -L '\(origin.url("/a"))' -H 'X-Team: search'"
            let printed = try await scene.run("import", "curl", command, without: "FETCHD_URL")
            #expect(printed.status == 0 && printed.output.hasPrefix("{\n  \"request\": {\n    \"url\": "))
            #expect(printed.errors.contains("-o is left out: the service keeps the response."))
            let job = try await scene.json("import", "curl", "--submit", command)
            let id = try #require(member(job, "id", as: String.self))
            #expect(try await scene.run("jobs", "watch", id).status == 0)
            let shown = try await scene.json("jobs", "show", id)
            #expect(member(shown, "request", "headers", as: [[String: String]].self)?.first?["value"] == "search")
            let refused = try await scene.run("import", "curl", "curl -k \(origin.url("/a"))")
            #expect(refused.status == 64 && refused.errors.contains("-k: certificates are always verified"))
            let invalid = try await scene.run("import", "curl", "curl -X CONNECT \(origin.url("/a"))")
            #expect(invalid.status == 64 && invalid.errors.contains("/request/method must be a token"))
        }
    }

    @Test func `jobs are submitted, listed, shown, followed, retried, cancelled and exported`() async throws {
        try await Scene.with { scene, origin in
            let job = try await scene.json("jobs", "submit", origin.url("/a?secret=sesame"), "--wait", "30")
            #expect(member(job, "state") == "succeeded")
            let id = try #require(member(job, "id", as: String.self))
            let list = try await scene.run("jobs", "ls", "--state", "succeeded")
            #expect(list.status == 0 && list.output.hasPrefix("ID ") && list.output.contains(id))
            let none = try await scene.run("jobs", "ls", "--state", "failed")
            #expect(none.status == 0 && none.output == "" && none.errors.contains("no such jobs"))
            #expect(member(try await scene.json("jobs", "show", id), "id") == id)
            let shown = try await scene.run("jobs", "show", id)
            #expect(shown.output.contains("state") && shown.output.contains("attempts"))

            let file = scene.directory.file("job.json")
            let spec = """
                {"request": "\(origin.url("/fails"))",
                 "configuration": {"retry": {"maximumAttempts": 1, "statuses": [503]}}}
                """
            try spec.write(toFile: file, atomically: true, encoding: .utf8)
            let failed = try await scene.run("jobs", "submit", "--file", file, "--watch")
            #expect(
                failed.status == 1 && failed.output.contains("job.finished failed"), "\(failed.output)\(failed.errors)")
            let lines = try await scene.run("jobs", "ls", "--state", "failed", "-o", "ndjson").output
            let line = try JSONSerialization.jsonObject(with: Data(lines.utf8)) as? [String: Any]
            let failedID = try #require(line?["id"] as? String)
            #expect(try await scene.run("jobs", "retry", failedID).status == 0)
            #expect(try await scene.run("jobs", "watch", failedID, "-o", "ndjson").status == 1)

            try #"{"request": "\#(origin.url("/later"))", "runAt": "2999-01-01T00:00:00Z"}"#
                .write(toFile: file, atomically: true, encoding: .utf8)
            let later = try #require(
                member(try await scene.json("jobs", "submit", "--file", file), "id", as: String.self))
            let cancelled = try await scene.run("jobs", "cancel", later, "job_01jd3v8m5qf0t8n4r6w2y9bcde")
            #expect(cancelled.status == 1 && cancelled.output.hasPrefix("\(later): cancelled"), "\(cancelled)")
            let export = try await scene.run("jobs", "export")
            #expect(export.status == 0 && export.output.split(separator: "\n").count == 3)
        }
    }

    @Test func `what is refused is told with the member and what to do, and has an exit code`() async throws {
        try await Scene.with { scene, origin in
            let file = scene.directory.file("job.json")
            try #"{"request": {"url": "nonsense"}}"#.write(toFile: file, atomically: true, encoding: .utf8)
            let wrong = try await scene.run("jobs", "submit", "--file", file)
            #expect(wrong.status == 64 && wrong.errors.contains("/request/url"), "\(wrong.errors)")
            let missing = try await scene.run("jobs", "show", "job_01jd3v8m5qf0t8n4r6w2y9bcde")
            #expect(missing.status == 1 && missing.errors.contains("(notFound, 404)"), "\(missing.errors)")
            let unknown = try await scene.run("jobs", "ls", without: "FETCHD_KEY")
            #expect(unknown.status == 77 && unknown.errors.contains("FETCHD_KEY"), "\(unknown.errors)")
            let away = try await scene.run("jobs", "ls", "--url", "http://127.0.0.1:1")
            #expect(away.status == 69 && away.errors.contains("cannot be reached"))
            #expect(try await scene.run("jobs", "ls", "--url", "ftp://a").status == 78)
            let misspelt = try await scene.run("jobs", "ls", "--stat", "failed")
            #expect(misspelt.status == 64 && misspelt.errors.contains("--state"), "\(misspelt.errors)")

            // The key of a file, and one that others can see.
            let key = try #require(scene.environment["FETCHD_KEY"])
            let path = scene.directory.file("key")
            for (mode, status) in [(0o600, Int32(0)), (0o644, 78)] {
                #expect(
                    FileManager.default.createFile(
                        atPath: path, contents: Data((key + "\n").utf8), attributes: [.posixPermissions: mode]))
                let end = try await scene.run("jobs", "ls", "--key-file", path, without: "FETCHD_KEY")
                #expect(end.status == status, "\(end.errors)")
            }
            let seen = try await scene.run("jobs", "ls", "--key", key, without: "FETCHD_KEY")
            #expect(seen.status == 0 && seen.errors.contains("can see the key") && !seen.errors.contains(key))
        }
    }

    @Test func `hosts, flows, sessions, schedules, questions, the cache and webhooks are shown and steered`()
        async throws
    {
        try await Scene.with { scene, origin in
            #expect(try await scene.run("hosts", "pause", "a.example").status == 0)
            #expect(try await scene.run("hosts").output.contains("a.example"))
            #expect(member(try await scene.json("hosts", "show", "a.example"), "paused") == true)
            #expect(try await scene.run("hosts", "resume", "a.example").status == 0)
            #expect(try await scene.run("flows", "pause", "mail/1 a").status == 0)
            #expect(try await scene.run("flows", "ls").output.contains("mail/1 a"))
            #expect(try await scene.run("flows", "drain", "mail/1 a").status == 0)
            let session = try await scene.service.request(.post, "/v1/sessions", body: "{}").json
            let id = try #require(member(session, "id", as: String.self))
            #expect(try await scene.run("sessions").output.contains(id))
            #expect(member(try await scene.json("sessions", "show", id), "id") == id)
            let schedule = try await scene.service.request(
                .post, "/v1/schedules", body: #"{"interval": 3600, "job": {"request": "data:,x"}}"#
            ).json
            let scheduleID = try #require(member(schedule, "id", as: String.self))
            #expect(try await scene.run("schedules").output.contains("every 3600 s"))
            #expect(try await scene.run("schedules", "run", scheduleID).status == 0)
            #expect(try await scene.run("schedules", "pause", scheduleID).status == 0)
            let questions = try await scene.run("questions")
            #expect(questions.status == 0 && questions.errors.contains("No job waits"))
            #expect(try await scene.run("webhooks", "endpoints").status == 0)
            #expect(try await scene.run("webhooks", "deliveries", "--state", "pending").status == 0)

            _ = try await scene.json("jobs", "submit", origin.url("/cached"), "--wait", "30")
            let explained = try await scene.run("cache", "explain", origin.url("/cached"))
            #expect(explained.output.contains("hit"), "\(explained)")
            #expect(member(try await scene.json("cache", "purge", "--all"), "removed") == 1)
            #expect(try await scene.run("cache", "explain", origin.url("/cached")).errors.contains("Nothing is cached"))

            let top = try await scene.run("top", "-n", "2", "-i", "0.1")
            #expect(
                top.status == 0 && top.output.split(separator: "\n").count == 2 && top.output.contains(" queued=0 "))
            #expect(!top.output.contains("\u{1B}"))
        }
    }

    @Test func `an endpoint is tested, and its answer is shown`() async throws {
        let receiver = try WebhookReceiver(answers: [
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        ])
        try await Scene.with(allowing: [receiver.rule]) { scene, _ in
            let (endpoint, _) = try await receiver.endpoint(of: scene.service)
            let taken = try await scene.run("webhooks", "test", endpoint, "-o", "json")
            #expect(taken.status == 0, "\(taken)")
            let delivery = try JSONSerialization.jsonObject(with: Data(taken.output.utf8)) as? [String: Any] ?? [:]
            #expect(member(delivery, "event") == "endpoint.test" && member(delivery, "state") == "delivered")
            let refused = try await scene.run("webhooks", "test", endpoint)
            #expect(refused.status == 1 && refused.output.contains("500"), "\(refused)")
        }
    }

    @Test func `a question is answered, and its job goes on`() async throws {
        try await Scene.with { scene, origin in
            let job = try await scene.service.submit(origin.url("/a"), asking: #"["didReceiveResponse"]"#)
            let question = try #require(
                member(try await scene.service.question(of: job), "id", as: String.self))
            #expect(try await scene.run("questions").output.contains(question))
            let answer = try await scene.run("questions", "answer", question, "allow")
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(member(try await scene.service.end(of: job), "state") == "succeeded")
        }
    }

    @Test func `completions are put where the shell looks for them`() async throws {
        let directory = try TemporaryDirectory()
        for (shell, file) in [
            ("bash", ".local/share/bash-completion/completions/fetchd"),
            ("zsh", ".local/share/zsh/site-functions/_fetchd"),
            ("fish", ".config/fish/completions/fetchd.fish"),
        ] {
            let end = try await ProgramEnd.of(
                ["completions", "install"], ["HOME": directory.path, "SHELL": "/bin/\(shell)", "PATH": "/usr/bin:/bin"])
            #expect(end.status == 0 && end.output == "\(directory.path)/\(file)\n", "\(end.errors)")
            let script = try String(contentsOfFile: "\(directory.path)/\(file)", encoding: .utf8)
            #expect(script.contains("webhooks") && script.contains("top"))
        }
        let bash = "\(directory.path)/.local/share/bash-completion/completions/fetchd"
        try await Program.run(["/bin/bash", "-n", bash])
        #expect(
            try await ProgramEnd.of(["completions", "install"], ["HOME": directory.path, "SHELL": "sh"]).status == 78)
    }

    @Test func `every command has a manual page, which man, groff and mandoc read without a warning`() async throws {
        let directory = try TemporaryDirectory()
        let environment = ["HOME": directory.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        let end = try await ProgramEnd.of(["man", "install"], environment)
        let pages = end.output.split(separator: "\n").map { String($0) }
        #expect(end.status == 0 && pages.first == "\(directory.path)/.local/share/man/man1/fetchd.1", "\(end.errors)")
        let names = Set(pages.map { ($0 as NSString).lastPathComponent })
        #expect(names.isSuperset(of: ["fetchd-serve.1", "fetchd-jobs.1", "fetchd-jobs-ls.1", "fetchd-man-install.1"]))
        #expect(!names.contains("fetchd-help.1") && !names.contains("fetchd-supervise-postgres.1"))
        // The warnings of each are on standard output with the first, and on standard error with the others.
        #expect(try await tool(["/usr/bin/mandoc", "-T", "lint", "-W", "warning"] + pages) == "")
        #expect(try await tool(["/usr/bin/groff", "-man", "-Tutf8", "-ww", "-z"] + pages) == "")
        for page in pages {
            let shown = try await tool(["/usr/bin/man", "--warnings", "-l", page], environment)
            #expect(shown.contains("\nNAME\n") && !shown.contains(": warning"), "\(page): \(shown)")
        }

        let shown = try await tool(
            ["/usr/bin/man", "-M", "\(directory.path)/.local/share/man", "fetchd-get"],
            environment.merging(["MANWIDTH": "200"]) { $1 })
        #expect(shown.contains("       -o, --output file\n") && shown.contains("\nEXIT CODES\n"))
        #expect(shown.contains("fetchd get -X PUT -H 'Content-Type: text/plain' -d @note example.com/n\n"))
        #expect(shown.contains("sha256:…, sha512:…") && shown.contains("fetchd(1)"))
        let serve = try await ProgramEnd.of(["man", "show", "serve"], environment)
        #expect(serve.output.contains("\n.TP\n\\fBSERVER_PORT\\fR\n"))
        let unknown = try await ProgramEnd.of(["man", "show", "jobs", "nothing"], environment)
        #expect(unknown.status == 64 && unknown.errors.contains("There is no command \"jobs nothing\"."))
    }

    /// What a program says, on either way.
    private func tool(_ command: [String], _ environment: [String: String]? = nil) async throws -> String {
        try await onThread {
            let program = try Program(command, environment: environment, readsOutput: true, readsErrors: true)
            let output = program.output()
            return output + program.errors()
        }
    }

    @Test func `the doctor finds a sound service sound, and says what is wrong of another`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            var environment = place.environment
            environment["SERVER_PORT"] = service.base.split(separator: ":").last.map { String($0) }
            let sound = try await ProgramEnd.of(["doctor"], environment)
            #expect(sound.output.contains("where a service runs") && sound.output.contains("clock: as the database's"))
            #expect(
                sound.output.contains("schema: up to date") && sound.output.contains("what must hold of all jobs does"))
            // The disk of the tests may be full.
            #expect(sound.status == 0 || sound.output.contains("WRONG  disk"), "\(sound.output)")
            #expect(try await service.stop() == 0)
            let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
            environment["SERVER_PORT"] = "\(origin.port)"
            environment["DATABASE_URL"] = "postgresql://127.0.0.1:1/none"
            let wrong = try await ProgramEnd.of(["doctor"], environment)
            #expect(wrong.status == 69 && wrong.output.contains("WRONG  address: another program has the port"))
            #expect(wrong.errors.contains("the database cannot be reached"))
        }
    }

    @Test func `the doctor makes no database where there is none`() async throws {
        let directory = try TemporaryDirectory()
        let place = directory.file("data")
        let environment = ["PATH": "/usr/bin:/bin", "DATA_DIRECTORY": place, "SERVER_PORT": "0"]
        let end = try await ProgramEnd.of(["doctor"], environment)
        #expect(end.output.contains("note   database: there is no private PostgreSQL yet\n       → the first start"))
        #expect(end.status == 0 || end.output.contains("WRONG  disk"), "\(end.output)\(end.errors)")
        #expect(!FileManager.default.fileExists(atPath: place))
        let nowhere = try await ProgramEnd.of(
            ["doctor"], environment.merging(["POSTGRES_BINARY_DIRECTORY": directory.path]) { $1 })
        #expect(nowhere.status == 69 && nowhere.errors.contains(directory.path), "\(nowhere.errors)")
    }

    @Test func `keys are made, listed, rotated and revoked at a service, when flags name one`() async throws {
        try await Scene.with { scene, _ in
            let file = scene.directory.file("key")
            let key = Data((scene.environment["FETCHD_KEY"] ?? "").utf8)
            #expect(FileManager.default.createFile(atPath: file, contents: key, attributes: [.posixPermissions: 0o600]))
            let place = ["--url", scene.service.base, "--key-file", file]
            func run(_ arguments: String...) async throws -> ProgramEnd {
                try await ProgramEnd.of(["keys"] + arguments + place, scene.environment)
            }
            let made = try await run("create", "--name", "reader", "--scope", "jobs:read", "--expires-in", "2d")
            #expect(made.status == 0 && made.output.hasPrefix("fk_") && made.output.count(where: \.isNewline) == 1)
            let id = try #require(made.errors.split(separator: " ").first.map(String.init))
            #expect(id.hasPrefix("key_"))
            let rotated = try await run("rotate", id, "--overlap", "1h")
            #expect(rotated.status == 0 && rotated.output.hasPrefix("fk_"), "\(rotated.errors)")
            #expect(try await run("revoke", id).output == "revoked \(id)\n")
            let listed = try await run("ls")
            let line = listed.output.split(separator: "\n").first { $0.hasPrefix(id) }
            #expect(line?.contains("reader") == true && line?.contains("revoked") == true, "\(listed.output)")
            #expect(try await run("revoke", "key_none").status == 64)
            // What the key of the request may not do, its own may not either.
            let refused = try await run("create", "--role", "admin")
            #expect(refused.status == 77 || refused.status == 64, "\(refused.errors)")
            #expect(refused.errors.contains("/scopes"))
            let tenant = try await run("create", "--tenant", "other")
            #expect(tenant.status == 64 && tenant.errors.contains("leave --tenant out"))
            let local = try await scene.run("keys", "ls", "-o", "json")
            #expect(local.status == 64 && local.errors.contains("--url or --profile"))
        }
    }
}
