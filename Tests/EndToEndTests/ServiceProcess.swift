import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// The program built beside these tests, running as a service over a database of its own.
final class ServiceProcess: Sendable {
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "fetchd").path

    /// The same for all processes over one database.
    struct Place: Sendable {
        let database: TestDatabase
        let directory: String
        let environment: [String: String]
        /// Where its services run; nil for the network of the tests.
        var network: NetworkNamespace?

        /// - Parameters:
        ///   - rules: The rules that the address guard opens.
        ///   - settings: Further environment variables.
        static func with(
            allowing rules: [String],
            settings: [String: String] = [:],
            _ body: (Place) async throws -> Void
        ) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "fetchd-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try await TestDatabase.with(Schema.migrations) { database in
                var environment = ProcessInfo.processInfo.environment
                environment["DATABASE_URL"] = database.connectionString
                environment["DATA_DIRECTORY"] = directory
                environment["FETCHD_MASTER_KEYS"] = KeyRing.generate()
                environment["GUARD_ALLOW"] = rules.joined(separator: ",")
                environment["SERVER_PORT"] = "0"
                environment.merge(settings) { $1 }
                try await body(Place(database: database, directory: directory, environment: environment))
            }
        }

        /// The same without a database, and without master keys, so that a service makes its own.
        var alone: Place {
            var environment = environment
            for name in ["DATABASE_URL", "FETCHD_MASTER_KEYS"] { environment[name] = nil }
            environment["DATA_DIRECTORY"] = "\(directory)/alone"
            return Place(database: database, directory: "\(directory)/alone", environment: environment)
        }

        /// The same database for a node with a data directory of its own.
        var apart: Place {
            var environment = environment
            environment["DATA_DIRECTORY"] = "\(directory)/apart"
            return Place(database: database, directory: "\(directory)/apart", environment: environment)
        }

        /// An API key of a tenant, as `fetchd keys create` makes one.
        func key(tenant: String = "default", scopes: Set<Scope> = .tenant) async throws -> String {
            let ring = try KeyRing(try #require(environment["FETCHD_MASTER_KEYS"]))
            let keys = PostgresKeyStore(client: database.client, ring: ring)
            return try await keys.create(name: "default", tenant: tenant, scopes: scopes).1.revealed
        }

        /// Makes webhooks due that have failed once and wait; a node finds them with its next heartbeat.
        ///
        /// - Parameter count: How many are waited for.
        func retryDeliveries(_ count: Int = 1) async throws {
            // A claim lasts a minute, and no wait is as long.
            let waiting: Query =
                "state = 'pending' AND attempts > 0 AND next_attempt_at <> last_attempt_at + interval '60 seconds'"
            try await until {
                try await database.client.query("SELECT FROM webhook_deliveries WHERE \(waiting)").count >= count
            }
            try await database.client.query("UPDATE webhook_deliveries SET next_attempt_at = now() WHERE \(waiting)")
        }

        /// Waits until each of two nodes has extended its lease after the other had one.
        func untilNodesKnowOfEachOther() async throws {
            func read() async throws -> [Timestamp] {
                let leases = "SELECT lease_until FROM nodes WHERE lease_until > now() ORDER BY id" as Query
                return try await database.client.query(leases).map { try $0.decode(at: 0) }
            }
            var first: [Timestamp] = []
            try await until {
                first = try await read()
                return first.count == 2
            }
            try await until { zip(first, try await read()).allSatisfy { $0 < $1 } }
        }

        /// The output of a command, once it has ended well.
        func run(_ arguments: String...) async throws -> String {
            let end = try await ProgramEnd.of(arguments, environment)
            try #require(end.status == 0, "\(end.errors)")
            return end.output.trimmingCharacters(in: .newlines)
        }
    }

    private let process: Program
    private let log: Mutex<String>
    let key: String
    /// As many at once as a test likes.
    private let session: Session = {
        var configuration = SessionConfiguration()
        configuration.httpMaximumConnectionsPerHost = 256
        return Session(configuration: configuration)
    }()
    /// Where it is reached.
    let base: String
    /// Where it says that it listens.
    let address: String
    private let door: NetworkDoor?

    /// Starts a service and waits until it listens.
    ///
    /// - Parameter launcher: The command that starts it, by becoming it.
    static func start(_ place: Place, key: String, by launcher: [String] = []) async throws -> ServiceProcess {
        let start: @Sendable () throws -> Program = {
            try Program(launcher + [program, "serve"], environment: place.environment, readsErrors: true)
        }
        let process =
            if let network = place.network { try await network.inside(start) } else { try await onThread(start) }
        let service = try await onThread { try ServiceProcess(place, key: key, process) }
        Thread { service.follow() }.start()
        return service
    }

    private init(_ other: ServiceProcess, key: String) {
        self.key = key
        process = other.process
        base = other.base
        address = other.address
        door = nil
        log = Mutex("")
    }

    /// The same service as seen by another client, which has a key of its own; the test stops it by the first.
    func speaking(with key: String) -> ServiceProcess { ServiceProcess(self, key: key) }

    private init(_ place: Place, key: String, _ process: Program) throws {
        self.key = key
        self.process = process
        var text = ""
        let listening = /listening.*server\.url"?[=:]"?(https?:\/\/)([^"\s]+)/
        while !text.contains(listening) {
            let more = process.nextErrors()
            try #require(!more.isEmpty, "the service ended: \(text)")
            text += more
        }
        let (_, scheme, heard) = try #require(text.firstMatch(of: listening)).output
        address = String(heard)
        let port = UInt16(address.split(separator: ":").last ?? "") ?? 0
        door = try place.network.map { try NetworkDoor(into: $0, to: port) }
        base = scheme + (door.map { "127.0.0.1:\($0.port)" } ?? address)
        log = Mutex(text)
    }

    /// Reads its log to the end, so that it never waits for a reader.
    private func follow() {
        while case let more = process.nextErrors(), !more.isEmpty { log.withLock { $0 += more } }
    }

    /// Runs a test over one service.
    static func with(
        allowing rules: [String],
        settings: [String: String] = [:],
        in network: NetworkNamespace? = nil,
        _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        try await Place.with(allowing: rules, settings: settings) { place in
            var place = place
            place.network = network
            let service = try await start(place, key: try await place.key())
            do { try await body(service) } catch {
                try await service.stop()
                throw error
            }
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    /// Everything it wrote to its log.
    var logged: String { log.withLock { $0 } }

    func send(_ signal: Int32) { process.send(signal) }

    var processID: Int32 { process.pid }

    /// How much memory it has, in bytes.
    var residentBytes: Int { get throws { try #require(process.residentBytes) } }

    /// The most that it had since ``forgetPeakOfMemory()``.
    var peakOfMemory: Int { get throws { try #require(process.peakOfMemory) } }

    func forgetPeakOfMemory() throws { try process.forgetPeakOfMemory() }

    /// Whether it leaves the processors alone, mostly, for a second.
    var isIdle: Bool {
        get async throws {
            let (start, before) = (ContinuousClock.now, try #require(process.processorTime))
            try await Task.sleep(for: .seconds(1))
            return try #require(process.processorTime) - before < (ContinuousClock.now - start) / 2
        }
    }

    /// Changes how many files and sockets it may have open, up to the limit that it began with.
    func limitDescriptors(to count: Int) async throws {
        try await Program.run(["/usr/bin/prlimit", "--pid", "\(process.pid)", "--nofile=\(count):"])
    }

    /// Stops it in an orderly way.
    ///
    /// - Returns: Its exit status, or minus the number of the signal that ended it.
    @discardableResult
    func stop() async throws -> Int32 {
        send(SIGTERM)
        return try await waitForEnd()
    }

    func waitForEnd() async throws -> Int32 {
        try await onThread { [process] in process.waitForEnd() }
    }

    /// Waits for an end that nobody asks for from outside; one that does not come is made.
    func waitForOwnEnd() async throws -> Int32 {
        do { try await until { process.hasEnded } } catch {
            send(SIGKILL)
            _ = try await waitForEnd()
            throw error
        }
        return try await waitForEnd()
    }

    // MARK: Requests

    struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: [UInt8]

        /// The body as JSON; empty when it is none.
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
        }

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    func request(
        _ method: HTTPRequest.Method,
        _ path: String,
        body: String? = nil,
        headers: HTTPFields = [:],
        key: String? = nil
    ) async throws -> Answer {
        var request = Request(url: try URLRecord(base + path), method: method)
        request.headerFields = headers
        request.headerFields[.authorization] = headers[.authorization] ?? "Bearer \(key ?? self.key)"
        if let body {
            request.body = .bytes(Array(body.utf8))
            if headers[.contentType] == nil { request.headerFields[.contentType] = "application/json" }
        }
        let (bytes, response) = try await session.data(for: request)
        return Answer(status: response.status.code, headers: response.headerFields, body: bytes)
    }

    /// The same with a body of any kind.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: RequestBody,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        let request = Request(
            url: try URLRecord(base + path), method: method, headerFields: authorized(headers), body: body)
        let (bytes, response) = try await session.data(for: request)
        return Answer(status: response.status.code, headers: response.headerFields, body: bytes)
    }

    /// An answer whose body is read as it comes.
    func stream(_ path: String, headers: HTTPFields = [:]) async throws -> (ResponseBody, Response) {
        try await session.bytes(for: Request(url: try URLRecord(base + path), headerFields: authorized(headers)))
    }

    private func authorized(_ headers: HTTPFields) -> HTTPFields {
        var headers = headers
        headers[.authorization] = "Bearer \(key)"
        return headers
    }

    /// Submits a job for a URL and waits until it is final.
    ///
    /// - Parameter key: The key of another tenant.
    func fetch(
        _ url: String, request: String = "", more: String = "", key: String? = nil
    ) async throws -> [String: Any] {
        let body = #"{"request": {"url": "\#(url)"\#(request)}\#(more)}"#
        let answer = try await self.request(.post, "/v1/jobs", body: body, headers: [.prefer: "wait=30"], key: key)
        try #require(answer.status == 201, "\(answer.text)")
        return answer.json
    }

    /// The job as soon as `condition` holds of it.
    func job(_ id: String, until condition: ([String: Any]) -> Bool) async throws -> [String: Any] {
        var job: [String: Any] = [:]
        try await TestSupport.until {
            job = try await request(.get, "/v1/jobs/\(id)").json
            return condition(job)
        }
        return job
    }
}

extension HTTPField.Name {
    static let prefer = Self("Prefer")!
    static let idempotencyKey = Self("Idempotency-Key")!
    static let preferenceApplied = Self("Preference-Applied")!
}

/// The exit status and the output of a program.
struct ProgramEnd: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Runs fetchd to its end.
    static func of(_ arguments: [String], _ environment: [String: String]? = nil) async throws -> ProgramEnd {
        try await onThread {
            let command = [ServiceProcess.program] + arguments
            let program = try Program(command, environment: environment, readsOutput: true, readsErrors: true)
            let output = program.output()
            let errors = program.errors()
            return ProgramEnd(status: program.waitForEnd(), output: output, errors: errors)
        }
    }
}

/// One member of a JSON tree, by its path.
func member<Value>(_ json: [String: Any], _ path: String..., as type: Value.Type = Value.self) -> Value? {
    var value: Any? = json
    for name in path {
        if let index = Int(name), let array = value as? [Any] {
            value = array.indices.contains(index) ? array[index] : nil
        } else {
            value = (value as? [String: Any])?[name]
        }
    }
    return value as? Value
}

/// The status of the last transfer of a job: the origin's, whatever that of the file is.
func lastTransfer(of job: [String: Any]) -> Int? {
    let transfers = member(job, "attempts", as: [[String: Any]].self)?.last?["metrics"] as? [[String: Any]]
    return transfers?.last?["status"] as? Int
}
