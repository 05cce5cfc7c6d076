import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// A running service and origins that it may reach, for all tests of a suite: `@Suite(.sharedService())`.
///
/// Tests that share it keep apart by sessions of their own and by ``Stage/play(_:)``, which gives each a path of its
/// own.
struct SharedService: SuiteTrait, TestScoping {
    @TaskLocal private static var shared: Rig?

    fileprivate let settings: [String: String]
    fileprivate let ownsDatabase: Bool
    fileprivate let start: @Sendable () async throws -> [String: LoopbackServer]

    /// The rig that the suite of this test shares.
    static var current: Rig { get throws { try #require(shared, "the suite has no .sharedService") } }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let (servers, stage, other) = (try await start(), try Stage(), try Stage())
        // Nothing listens at the port of discarded data.
        let ports = servers.values.map(\.port) + [stage.port, other.port, 9]
        let rules = ports.map { "127.0.0.1:\($0)" } + ["localhost"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let place = ownsDatabase ? place.alone : place
            let key = ownsDatabase ? try await place.run("keys", "create") : try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let rig = Rig(service: service, place: place, stage: stage, other: other, servers: servers)
            try await Self.$shared.withValue(rig) { try await function() }
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }
}

extension Trait where Self == SharedService {
    /// - Parameters:
    ///   - settings: Further environment variables of the service.
    ///   - ownsDatabase: Whether it runs a private PostgreSQL, instead of using the tests'.
    ///   - servers: Starts further origins and proxies, by names of the suite's own.
    static func sharedService(
        settings: [String: String] = [:],
        ownsDatabase: Bool = false,
        servers: @escaping @Sendable () async throws -> [String: LoopbackServer] = { [:] }
    ) -> Self {
        Self(settings: settings, ownsDatabase: ownsDatabase, start: servers)
    }

    /// The same with httpbin, as `bin`.
    static var sharedServiceAndHTTPBin: Self { .sharedService { ["bin": try await .httpbin()] } }
}

/// The service and the servers that the tests of a suite share.
struct Rig: Sendable {
    let service: ServiceProcess
    let place: ServiceProcess.Place
    /// Plays exact bytes.
    let stage: Stage
    /// The same at another port, which makes it another origin.
    let other: Stage
    let servers: [String: LoopbackServer]

    func server(_ name: String) throws -> LoopbackServer { try #require(servers[name]) }

    /// The URL of a path at httpbin.
    func bin(_ path: String) throws -> String { try server("bin").url(path) }

    // MARK: Jobs

    /// The final state of a job for a URL.
    ///
    /// - Parameters:
    ///   - request: Further members of its request, such as `"method": "PUT"`.
    ///   - configuration: The members of its configuration.
    ///   - session: Its session; one of its own by default, so that nothing is shared with other tests.
    ///   - more: Its further members.
    func fetch(
        _ url: String, _ request: String = "", configuration: String = "", session: String? = nil, more: String = ""
    ) async throws -> [String: Any] {
        let session = if let session { session } else { try await makeSession() }
        // A failure ends the job at once, unless a test is about trying again.
        let retry = configuration.contains("\"retry\"") ? "" : #""retry": {"maximumAttempts": 1}"#
        let members = [configuration, retry].filter { !$0.isEmpty }.joined(separator: ", ")
        return try await service.fetch(
            url, request: request.isEmpty ? "" : ", " + request,
            more: #", "session": "\#(session)", "configuration": {\#(members)}"# + (more.isEmpty ? "" : ", " + more))
    }

    /// Makes a session.
    func makeSession(_ body: String = "{}") async throws -> String {
        let answer = try await service.request(.post, "/v1/sessions", body: body)
        try #require(answer.status == 201, "\(answer.text)")
        return try #require(member(answer.json, "id"))
    }

    /// The stored body of a job.
    func body(of job: [String: Any]) async throws -> [UInt8] {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self), "\(job)")).body
    }

    func text(of job: [String: Any]) async throws -> String {
        String(decoding: try await body(of: job), as: UTF8.self)
    }

    /// The body of a job as JSON.
    func echo(of job: [String: Any]) async throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(try await body(of: job))) as? [String: Any])
    }

    /// Submits a job and gives its id.
    func submit(_ job: String) async throws -> String {
        let answer = try await service.request(.post, "/v1/jobs", body: job)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }
}

/// The status of a job's response.
func status(of job: [String: Any]) -> Int? { member(job, "response", "status") }

/// The name of a job's error.
func errorName(of job: [String: Any]) -> String? { member(job, "error", "name") }
