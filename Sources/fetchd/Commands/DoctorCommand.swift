import ArgumentParser
import FetchEngine
import FetchJobs
import FetchStorage

/// Looks whether all is as it must be.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks for what is wrong, and says what to do; changes nothing.",
        discussion: """
            Give it the settings of the service. It looks at the limit of open files, the data directory and its disk, \
            what the address guard lets out, who may read files with keys, the port, the object store, and the \
            database: whether it answers, its release, its clock and its schema. Then it looks whether what must hold of \
            all jobs does: for \
            jobs that are lost or there twice, that a dead node still has, or whose end nobody was told of, for groups \
            and sessions that do not end, and for bodies in data directories that no node has. It reads all jobs for \
            that; the service may run meanwhile. Whether an end was told is known for as long as deliveries are kept \
            (WEBHOOKS_RETENTION_DAYS, which is to be that of the nodes).

            Each finding is a line: ok, note for what somebody should know, and WRONG, with what to do below. The exit \
            code is 1 when something is wrong, and 69 when the database cannot be reached.
            """
    )

    @Option(help: "How many seconds late may be what nodes do by themselves.")
    var patience = 60

    @Flag(help: "Leaves out what reads all jobs.")
    var quick = false

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard (0...86_400).contains(patience) else { throw ValidationError("Patience is between 0 and 86400 seconds.") }
    }

    func run() async throws {
        try await ExitError.reporting {
            DescriptorLimits.raise()
            let settings = try options.settings()
            var isWrong = false
            func tell(_ finding: Examination.Finding) {
                isWrong = isWrong || finding.verdict == .wrong
                print(TerminalText.plainLines(finding.line))
            }
            for finding in Examination.ofMachine(settings) { tell(finding) }
            tell(await Examination.port(settings))
            if let finding = await Examination.objectStore(settings) { tell(finding) }
            if try await Database.exists(settings) {
                try await examineDatabase(settings, tell)
            } else {
                tell(Examination.noDatabase)
            }
            guard isWrong else { return print("All is as it must be.") }
            throw ExitCode.failure
        }
    }

    private func examineDatabase(_ settings: Settings, _ tell: (Examination.Finding) -> Void) async throws {
        try await Database.with(settings, logger: .make(settings)) { database in
            let asked = Timestamp.now
            let facts = try await DatabaseFacts(client: database.client)
            for finding in Examination.database(facts, asked: asked, answered: .now) { tell(finding) }
            let pending = try await database.pendingMigrations()
            tell(Examination.migrations(pending, migrates: settings.migratesDatabase))
            guard pending.isEmpty, !quick else { return }
            for finding in try await jobs(database, settings) { tell(finding) }
            let nodes = PostgresNodeDirectory(client: database.client, node: Node.ID())
            for finding in Examination.roles(try await nodes.missingRoles()) { tell(finding) }
            for finding in Examination.volumes(try await LostVolume.all(client: database.client)) { tell(finding) }
        }
    }

    private func jobs(_ database: Database, _ settings: Settings) async throws -> [Examination.Finding] {
        let violations = try await PostgresInvariants(client: database.client)
            .violations(patience: .seconds(patience), kept: settings.retention.deliveries)
        guard !violations.isEmpty else { return [.init(.good, "jobs", "what must hold of all jobs does")] }
        return violations.map { violation in
            .init(
                .wrong, "jobs",
                "broken \(violation.count) times: \(violation.invariant); such as \(violation.example)",
                advice: "that is a fault of the service: report it, with this line")
        }
    }
}
