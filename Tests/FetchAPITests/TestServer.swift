import FetchEngine
import FetchJobs
import FetchRuntime
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// A server on memory ports, and a tenant with a key.
struct TestServer {
    let jobs: MemoryJobStore
    let keys = MemoryKeyStore()
    let signingKeys = MemorySigningKeyStore()
    let urlGroups = MemoryURLGroupStore()
    let idempotency = MemoryIdempotencyStore()
    let signIns: MemorySignInStore
    let sessions: MemorySessionStore
    let webhooks = MemoryWebhookStore()
    let schedules: MemoryScheduleStore
    let groups: MemoryGroupStore
    let figures: MemoryFiguresStore
    let cookies = MemoryCookieCatalog()
    let cache = MemoryCacheStore()
    let credentials = MemoryCredentialCatalog()
    let blobs = MemoryBlobStore()
    let catalog: MemoryBlobCatalog
    let live = LiveJobs()
    let nodes = MemoryNodes()
    let limiters: MemoryLimiterStore
    let questions: MemoryQuestionStore
    let askedQuestions = AskedQuestions()
    let unfinished = UnfinishedUploads()
    let uploads: MemoryUploadArea
    let protocols = MemoryProtocolStore()
    let knownProtocols: KnownProtocols
    let audit = MemoryAuditLog()
    let rules = MemoryServiceRuleStore()
    let knownRules: KnownServiceRules
    let egress = MemoryEgressStore()
    let knownEgress: KnownEgress
    let readiness = MemoryReadiness()
    let tenants: MemoryTenantStore
    let tenantLimits: KnownTenantLimits
    let traffic = MemoryTrafficStore()
    let metrics = MetricsRegistry()
    var provider: ProviderClient = { _ in throw StoreError(.failed, "There is no provider.") }
    /// Takes the spans of requests; nil for nobody.
    var tracer: Tracer?
    /// The settings that the dashboard shows.
    var settings: [ShownSetting] = []
    /// The web pages that may speak to aria2's door.
    var aria2Origins: Set<String> = []
    /// Pages of the dashboard that one tenant gets in a second; nil for the default.
    var maximumPagesPerSecond: Int64?
    let key: APIKey
    let token: APIKeyToken

    /// - Parameter limits: Those of every tenant.
    init(jobs: MemoryJobStore = MemoryJobStore(), limits: TenantLimits = [:]) async throws {
        self.jobs = jobs
        tenants = MemoryTenantStore(["default", "crawler", "a/b"])
        tenantLimits = KnownTenantLimits(standard: limits, store: tenants)
        schedules = MemoryScheduleStore(jobs: jobs)
        groups = MemoryGroupStore(jobs: jobs)
        figures = MemoryFiguresStore(jobs: jobs)
        sessions = MemorySessionStore(jobs: jobs)
        uploads = MemoryUploadArea(unfinished: unfinished)
        catalog = MemoryBlobCatalog(jobs: jobs, unfinished: unfinished)
        limiters = MemoryLimiterStore(jobs: jobs)
        questions = MemoryQuestionStore()
        signIns = MemorySignInStore(keys: keys, audit: audit)
        knownProtocols = KnownProtocols(store: protocols)
        knownRules = KnownServiceRules(store: rules)
        knownEgress = KnownEgress(EgressPolicies(standard: .publicOnly), store: egress)
        (key, token) = try await keys.create(name: "test", tenant: "test")
        signIns.name(key.tenant, "test")
    }

    var server: Server {
        Server(
            configuration: configuration, ports: ports, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    var configuration: Server.Configuration {
        var configuration = Server.Configuration()
        configuration.port = 0
        configuration.settings = settings
        configuration.aria2Origins = AllowedOrigins(aria2Origins)
        configuration.version = "1.2.3"
        configuration.schemaVersion = 7
        if let maximumPagesPerSecond { configuration.maximumPagesPerSecond = maximumPagesPerSecond }
        return configuration
    }

    var ports: Server.Ports {
        Server.Ports(
            jobs: jobs,
            statistics: jobs,
            figures: figures,
            sessions: sessions,
            snapshots: sessions,
            webhooks: webhooks,
            schedules: schedules,
            groups: groups,
            urlGroups: urlGroups,
            idempotency: idempotency,
            keys: keys,
            signingKeys: signingKeys,
            issuerKeys: { [] },
            askProvider: provider,
            tokenRevocations: MemoryTokenRevocationStore(),
            signIns: signIns,
            tenants: tenants,
            tenantLimits: tenantLimits,
            traffic: TrafficMeter(store: traffic, limits: tenantLimits),
            protocols: protocols,
            knownProtocols: knownProtocols,
            audit: audit,
            rules: rules,
            knownRules: knownRules,
            egress: egress,
            knownEgress: knownEgress,
            cookies: cookies,
            cache: cache,
            credentials: credentials,
            answers: questions,
            blobs: blobs,
            ownBlobs: blobs,
            catalog: catalog,
            uploads: uploads,
            unfinished: unfinished,
            waiters: jobs.waiters,
            live: live,
            node: Node.ID(),
            nodes: nodes,
            questions: questions,
            askedQuestions: askedQuestions,
            judge: AnswerJudge(credentials: credentials, blobs: catalog) { url, _ in
                url.description.contains("127.0.0.1") ? "must be public (addressForbidden)" : nil
            },
            limiters: limiters,
            nodeClient: nodes,
            readiness: readiness,
            metrics: metrics,
            checkWebhookURL: { url, _ in
                url.description.contains("127.0.0.1") ? "must be public (addressForbidden)" : nil
            },
            checkTarget: { url, _, look in
                let isRefused = url.description.contains("127.0.0.1")
                return TargetJudgement(
                    refusal: isRefused ? ("addressForbidden", "is not public (addressForbidden)") : nil,
                    resolves: look == .url ? nil : false)
            },
            defaults: { [knownRules] _ in
                var defaults = FetchJobs.Configuration(of: .default)
                defaults.rules = knownRules.current.rules
                return defaults
            },
            tracer: tracer
        )
    }

    /// Runs a test against a listening server, and stops it.
    ///
    /// The test is given the port and a function that stops the server before the test is over.
    func listen<Value: Sendable>(
        connection: ConnectionGuard.Limits = ConnectionGuard.Limits(),
        configure: (inout Server.Configuration) -> Void = { _ in },
        _ body: @Sendable (_ port: Int, _ stop: @Sendable () async -> Void) async throws -> Value
    ) async throws -> Value {
        var configuration = configuration
        configuration.connection = connection
        configure(&configuration)
        let (ports, told) = AsyncStream<Int>.makeStream()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = Server(configuration: configuration, ports: self.ports, logger: logger) { told.yield($0) }
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [server], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { told.finish() }
                try await group.run()
            }
            let port = try #require(await ports.first { _ in true })
            do {
                let value = try await body(port) { await group.triggerGracefulShutdown() }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
                return value
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
        }
    }

    /// A job of the tenant that waits.
    func queueJob() async throws -> Job.ID {
        let id = Job.ID()
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://origin.example/"}}"#.utf8))
        _ = try await jobs.enqueue([NewJob(id: id, tenant: key.tenant, spec: spec)])
        return id
    }

    var authorization: String { "Bearer \(token.revealed)" }

    /// Runs a test against the routes of the port for clients of aria2 without a secret.
    func test(openTo tenant: String, _ body: (TestCalls) async throws -> Void) async throws {
        var configuration = configuration
        configuration.aria2Tenant = tenant
        let server = Server(
            configuration: configuration, ports: ports, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await body(TestCalls(responder: server.responderOfAria2, authorization: authorization))
    }

    /// Runs a test against the routes.
    func test(_ body: (TestCalls) async throws -> Void) async throws {
        try await body(TestCalls(responder: server.responder, authorization: authorization))
    }
}

/// Requests with a key, which a server's responder answers without a connection.
struct TestCalls: Sendable {
    /// Collects what is written.
    private final class Writer: ResponseBodyWriter, Sendable {
        let written = Mutex<[UInt8]>([])

        func write(_ buffer: ByteBuffer) async throws { written.withLock { $0 += buffer.readableBytesView } }
        func finish(_ trailers: HTTPFields?) async throws {}
    }

    fileprivate let responder: Responder
    fileprivate let authorization: String

    /// Requests to the same server with another key.
    func with(_ authorization: String) -> TestCalls { TestCalls(responder: responder, authorization: authorization) }

    func callAsFunction(
        _ method: HTTPRequest.Method,
        _ uri: String,
        headers: HTTPFields = [:],
        host: String = "localhost",
        body: String? = nil
    ) async throws -> TestAnswer {
        try await answer(response(method, uri, headers: headers, host: host, body: body))
    }

    /// - Parameter length: The number of bytes, when the request has it.
    func callAsFunction(
        _ method: HTTPRequest.Method,
        _ uri: String,
        headers: HTTPFields = [:],
        host: String = "localhost",
        length: Int? = nil,
        _ body: RequestBody
    ) async throws -> TestAnswer {
        try await answer(response(method, uri, headers: headers, host: host, length: length, body))
    }

    private func answer(_ response: Response) async throws -> TestAnswer {
        let writer = Writer()
        try await response.body.write(writer)
        return TestAnswer(
            status: response.status, headers: response.headers, bytes: writer.written.withLock { $0 })
    }

    /// The response to a request, whose body nobody has asked for yet.
    func response(
        _ method: HTTPRequest.Method,
        _ uri: String,
        headers: HTTPFields = [:],
        host: String = "localhost",
        body: String? = nil
    ) async throws -> Response {
        try await response(
            method, uri, headers: headers, host: host, length: body?.utf8.count,
            RequestBody(buffer: ByteBuffer(string: body ?? "")))
    }

    private func response(
        _ method: HTTPRequest.Method,
        _ uri: String,
        headers: HTTPFields,
        host: String,
        length: Int?,
        _ body: RequestBody
    ) async throws -> Response {
        var fields: HTTPFields = [.authorization: authorization]
        if let length {
            fields[.contentType] = "application/json"
            fields[.contentLength] = String(length)
        }
        for field in headers { fields[field.name] = field.value }
        if fields[.authorization] == "" { fields[.authorization] = nil }
        let request = Request(
            head: HTTPRequest(method: method, scheme: "http", authority: host, path: uri, headerFields: fields),
            body: body)
        let source = ApplicationRequestContextSource(
            channel: NIOAsyncTestingChannel(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return try await responder.respond(to: request, context: ConnectionContext(source: source))
    }
}

struct TestAnswer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var json: JSONValue? { try? JSONParser.parse(bytes) }

    /// The code of a problem document, when it is one.
    var problem: ProblemCode? {
        guard headers[.contentType] == "application/problem+json", let code = json?["code"]?.string else { return nil }
        return ProblemCode(rawValue: code)
    }
}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    var string: String? { if case .string(let string) = self { string } else { nil } }
    var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    var count: Int? { if case .array(let elements) = self { elements.count } else { nil } }
}
