import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// The state of a connection when a request comes in.
struct ConnectionContext: Sendable, InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}

/// Answers every request: finds its route, authenticates the caller, and turns every error into a problem document.
struct Responder: HTTPResponder {
    static let maximumTargetLength = 8192

    let answersClients: Bool
    private(set) var table: RouteTable
    let authenticator: Authenticator
    let authorization: Authorization
    let streamTokens: StreamTokens
    let connections: OpenConnections
    let gate: TenantGate
    let idempotent: IdempotentRequests
    let storage: StorageGate
    let readiness: any Readiness
    let audit: any AuditLog
    let uses: DailyUses
    let counts: RequestCounts
    /// Takes the spans of requests; nil for nobody.
    let tracer: Tracer?
    /// Who calls at a port that needs no secret; nil where callers say that.
    private(set) var openDoor: Aria2OpenDoor?

    /// The same at another port, with fewer routes and no secret.
    func opened(to door: Aria2OpenDoor, for table: RouteTable) -> Responder {
        var responder = self
        (responder.openDoor, responder.table) = (door, table)
        return responder
    }

    func respond(to request: Request, context: ConnectionContext) async throws -> Response {
        let start = ContinuousClock.now
        let id = RequestID(of: request.headers)
        let match = table.resource(at: request.uri.path)
        let trace = match.flatMap { resource, _ in
            resource.isTraced(request.method) ? RequestTrace(of: request.headers, tracer) : nil
        }
        let call = Call(
            request: request,
            id: id,
            parameters: match?.parameters ?? [],
            logger: context.logger,
            channel: context.channel,
            connection: Connection.current ?? ConnectionGuard.connection(on: context.channel),
            trace: trace?.context
        )
        var response: Response
        var known = Known()
        var code: ProblemCode?
        do {
            response = try await answer(call, from: match?.0, &known)
            if let route = match?.0.route(for: request.method) {
                response = try await ContentCoding.encode(response, for: request, of: route)
            }
        } catch let error as HTTPParserError {
            // The connection is beyond use; `ConnectionGuard` answers.
            throw error
        } catch {
            let problem = problem(for: error, in: call)
            note(problem, call, at: match?.0.path, known.caller)
            code = problem.code
            response = Self.response(to: problem, at: request.uri.path, id)
        }
        response.headers[.requestID] = id.text
        known.rate?.write(to: &response.headers)
        if request.method == .head { response = response.createHeadResponse() }
        counts.count(
            method: request.method,
            route: match?.0.path ?? "none",
            status: response.status,
            duration: ContinuousClock.now - start
        )
        if let tracer, let trace, trace.context.isSampled, let route = match?.0.path {
            tracer.record(
                trace.span(of: call, at: route, answeredBy: response, code: code, for: known.caller?.tenant))
        }
        return response
    }

    /// A problem in the form that clients at a path read.
    private static func response(to problem: Problem, at path: String, _ id: RequestID) -> Response {
        if QStashDoor.serves(path) { return QStashDoor.response(to: problem) }
        if Aria2Door.serves(path) { return Aria2Door.response(to: problem, at: path) }
        return problem.response(requestID: id.text)
    }

    /// What is known of a request, also when it is refused.
    struct Known {
        /// What it leaves of its tenant's request rate.
        var rate: RequestRates.Verdict?
        /// Its tenant and who makes it, once it has shown a valid key.
        var caller: (tenant: Tenant.ID, actor: AuditActor)?
    }

    /// - Parameter known: Gets what is learnt of the request, as soon as that is known.
    private func answer(
        _ call: Call, from resource: RouteTable.Resource?, _ known: inout Known
    ) async throws -> Response {
        guard (call.request.head.path?.utf8.count ?? 0) <= Self.maximumTargetLength else { throw Problem(.uriTooLong) }
        if let expectation = call.headers[.expect], expectation.lowercased() != "100-continue" {
            throw Problem(.expectationFailed)
        }
        guard answersClients || resource?.isOfEveryNode == true || call.isForwarded else {
            throw Problem(.misdirectedRequest, "This node answers no clients: it has not the role api (FETCHD_ROLES).")
        }
        if let openDoor { try openDoor.check(call) }
        guard let resource else { throw QStashDoor.notFound(at: call.request.uri.path) }
        guard let route = resource.route(for: call.request.method) else {
            return try other(call.request.method, of: resource)
        }
        switch route.handler {
        case .open(let handler): return try await handler(call)
        case .calls(let handler): return try await handler(call, self)
        case .tenant(let handler):
            let key = try await key(of: call, on: route)
            let (call, actor) = try await admit(call, with: key, asking: route.access, taking: route.work, &known)
            return try await AuditActor.$current.withValue(actor) {
                guard route.keepsResponses else {
                    return try await handler(call, key.tenant).taggedByContent(for: call)
                }
                return try await idempotent.response(to: call, of: key.tenant, by: handler)
            }
        case .admin(let handler):
            let key = try await authenticator.key(of: call)
            let actor = authenticator.actor(.operator, key, call)
            known.caller = (key.tenant, actor)
            uses.note(actor, of: key.tenant)
            let call = try await authorized(call, with: key, asking: route.access)
            if route.method == .get { audit.note(AuditEvent(.readAsOperator, resource.path, by: actor)) }
            return try await AuditActor.$current.withValue(actor) {
                try await handler(call).taggedByContent(for: call)
            }
        }
    }

    private func key(of call: Call, on route: Route) async throws -> APIKey {
        if route.takesStreamTokens, let key = try await streamTokens.key(of: call) { return key }
        if let token = QStashDoor.token(of: call) { return try await authenticator.key(of: token, from: call) }
        return try await authenticator.key(of: call)
    }

    /// Takes a call in that has shown a key: one that is a request, or one of several in a request.
    ///
    /// - Parameters:
    ///   - access: What it asks of the key.
    ///   - work: What the node has to do or to keep for it.
    /// - Returns: The call with its key, and who makes it.
    func admit(
        _ call: Call, with key: APIKey, asking access: Access?, taking work: Route.Work?, _ known: inout Known
    ) async throws -> (call: Call, actor: AuditActor) {
        let tenant = key.tenant
        let actor = authenticator.actor(key.subject == nil ? .key : .token, key, call)
        known.caller = (tenant, actor)
        uses.note(actor, of: tenant)
        // Before its bounds are looked up, its body is read, or anything else is done for it.
        known.rate = try gate.take(of: tenant)
        let call = try await authorized(call, with: key, asking: access)
        if let connection = call.connection { try connections.begin(connection, for: tenant) }
        if work != nil, let overload = readiness.overload(for: tenant) { throw Problem(overload) }
        if work == .jobs || work == .job { try await gate.requireTraffic(of: tenant) }
        if work == .jobs { try await storage.require(of: tenant) }
        return (call, actor)
    }

    /// The problem of one of several calls in a request, which is counted and noted as that of a request is.
    ///
    /// - Parameter name: What the audit log calls it.
    func problem(for error: any Error, in call: Call, named name: String, _ known: Known) -> Problem {
        let problem = problem(for: error, in: call)
        note(problem, call, at: name, known.caller)
        return problem
    }

    /// The call with its key, which may do what is asked.
    private func authorized(_ call: Call, with key: APIKey, asking access: Access?) async throws -> Call {
        var call = call
        call.key = key
        try await authorization.require(access, of: key, for: call)
        return call
    }

    private func other(_ method: HTTPRequest.Method, of resource: RouteTable.Resource) throws -> Response {
        guard method == .options else {
            var problem = Problem(.methodNotAllowed, "\(method.rawValue) is not one of \(resource.allow).")
            problem.headers[.allow] = resource.allow
            throw problem
        }
        return Response(status: .noContent, headers: [.allow: resource.allow])
    }

    /// Counts and notes that a client was refused: one that has shown no valid key for the service, and one whose key
    /// may not do it, or has reached a limit, for its tenant.
    private func note(
        _ problem: Problem, _ call: Call, at path: String?, _ caller: (tenant: Tenant.ID, actor: AuditActor)?
    ) {
        if let limit = problem.limit { counts.countRefusal(by: limit) }
        let (chain, actor): (Tenant.ID, AuditActor)
        if problem.code == .unauthorized || problem.code == .tooManyFailures {
            (chain, actor) = (.service, authenticator.actor(.anonymous, nil, call))
        } else if let caller, problem.limit != nil || problem.code.status == .forbidden {
            (chain, actor) = caller
        } else {
            return
        }
        let details = RawJSON(JSONWriter.object { $0.member("code", problem.code.rawValue) })
        audit.note(
            AuditEvent(
                .refuseRequest, "\(call.request.method.label) \(path ?? "none")", of: chain,
                details: details, by: actor))
    }

    private func problem(for error: any Error, in call: Call) -> Problem {
        // The wait was cut short because the service stops or the client has left.
        if error is CancellationError { return Problem(.notReady, "The service is stopping.").retrying(after: 1) }
        let problem = Problem(error)
        if problem.code == .internalError || problem.code == .databaseUnavailable {
            var metadata: Logger.Metadata = [
                "request.id": "\(call.id.text)", "problem.code": "\(problem.code.rawValue)", "error": "\(error)",
            ]
            metadata.trace(call.trace)
            call.logger.error("A request failed", metadata: metadata)
        }
        return problem
    }
}

/// The metrics of the API as a whole.
struct RequestCounts: Sendable {
    private let requests: MetricFamily<Counter>
    private let durations: MetricFamily<Histogram>
    private let refusals: MetricFamily<Counter>

    init(registry: MetricsRegistry) {
        requests = registry.counter(.httpRequests)
        durations = registry.histogram(.httpRequestDuration)
        refusals = registry.counter(.limitRefusals)
    }

    func countRefusal(by limit: String) { refusals[limit].add() }

    func count(method: HTTPRequest.Method, route: String, status: HTTPResponse.Status, duration: Duration) {
        requests[method.label, route, String(status.code)].add()
        durations[route].observe(duration)
    }
}
