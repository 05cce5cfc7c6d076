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

    let table: RouteTable
    let authenticator: Authenticator
    let authorization: Authorization
    let connections: OpenConnections
    let gate: TenantGate
    let readiness: any Readiness
    let audit: any AuditLog
    let counts: RequestCounts

    func respond(to request: Request, context: ConnectionContext) async throws -> Response {
        let start = ContinuousClock.now
        let id = RequestID(of: request.headers)
        let match = table.resource(at: request.uri.path)
        let call = Call(
            request: request,
            id: id,
            parameters: match?.parameters ?? [],
            logger: context.logger,
            channel: context.channel,
            connection: Connection.current ?? ConnectionGuard.connection(on: context.channel)
        )
        var response: Response
        var rate: RequestRates.Verdict?
        do {
            response = try await answer(call, from: match?.0, &rate)
        } catch let error as HTTPParserError {
            // The connection is beyond use; `ConnectionGuard` answers.
            throw error
        } catch {
            let problem = problem(for: error, in: call)
            if let limit = problem.limit { counts.countRefusal(by: limit) }
            note(problem, call, match?.0)
            response = problem.response(requestID: id.text)
        }
        response.headers[.requestID] = id.text
        rate?.write(to: &response.headers)
        if request.method == .head { response = response.createHeadResponse() }
        counts.count(
            method: request.method,
            route: match?.0.path ?? "none",
            status: response.status,
            duration: ContinuousClock.now - start
        )
        return response
    }

    /// - Parameter rate: Gets what the request leaves of its tenant's request rate, as soon as that is known.
    private func answer(
        _ call: Call, from resource: RouteTable.Resource?, _ rate: inout RequestRates.Verdict?
    ) async throws -> Response {
        guard (call.request.head.path?.utf8.count ?? 0) <= Self.maximumTargetLength else { throw Problem(.uriTooLong) }
        if let expectation = call.headers[.expect], expectation.lowercased() != "100-continue" {
            throw Problem(.expectationFailed)
        }
        guard let resource else { throw Problem(.notFound, "There is no resource at this path.") }
        guard let route = resource.route(for: call.request.method) else {
            return try other(call.request.method, of: resource)
        }
        switch route.handler {
        case .open(let handler): return try await handler(call)
        case .tenant(let handler):
            let key = try await authenticator.key(of: call)
            let tenant = key.tenant
            // Before its bounds are looked up, its body is read, or anything else is done for it.
            rate = try gate.take(of: tenant)
            let (call, actor) = try await authorized(call, with: key, for: route, of: resource, as: .key)
            if let connection = call.connection { try connections.begin(connection, for: tenant) }
            if route.work != nil, let overload = readiness.overload(for: tenant) { throw Problem(overload) }
            if route.work == .jobs { try await gate.requireTraffic(of: tenant) }
            return try await AuditActor.$current.withValue(actor) { try await handler(call, tenant) }
        case .admin(let handler):
            let key = try await authenticator.key(of: call)
            let (call, actor) = try await authorized(call, with: key, for: route, of: resource, as: .operator)
            if route.method == .get { audit.note(AuditEvent(.readAsOperator, resource.path, by: actor)) }
            return try await AuditActor.$current.withValue(actor) { try await handler(call) }
        }
    }

    /// The call with its key, which may do what the route does, and who makes it.
    private func authorized(
        _ call: Call, with key: APIKey, for route: Route, of resource: RouteTable.Resource, as kind: AuditActor.Kind
    ) async throws -> (Call, AuditActor) {
        var call = call
        call.key = key
        let actor = authenticator.actor(kind == .key && key.subject != nil ? .token : kind, key, call)
        do { try await authorization.require(route.access, of: key, for: call) } catch {
            if let code = (error as? Problem)?.code, code == .scopeRequired || code == .keyBound {
                audit.note(Self.refusal(call, resource, of: key.tenant, by: actor))
            }
            throw error
        }
        return (call, actor)
    }

    private func other(_ method: HTTPRequest.Method, of resource: RouteTable.Resource) throws -> Response {
        guard method == .options else {
            var problem = Problem(.methodNotAllowed, "\(method.rawValue) is not one of \(resource.allow).")
            problem.headers[.allow] = resource.allow
            throw problem
        }
        return Response(status: .noContent, headers: [.allow: resource.allow])
    }

    /// Notes that a client was refused which has shown no valid key.
    private func note(_ problem: Problem, _ call: Call, _ resource: RouteTable.Resource?) {
        guard problem.code == .unauthorized || problem.code == .tooManyFailures else { return }
        audit.note(
            Self.refusal(call, resource, of: .service, by: authenticator.actor(.anonymous, nil, call)))
    }

    private static func refusal(
        _ call: Call, _ resource: RouteTable.Resource?, of chain: Tenant.ID, by actor: AuditActor
    ) -> AuditEvent {
        AuditEvent(
            .refuseRequest, "\(call.request.method.label) \(resource?.path ?? "none")", of: chain, by: actor)
    }

    private func problem(for error: any Error, in call: Call) -> Problem {
        // The wait was cut short because the service stops or the client has left.
        if error is CancellationError { return Problem(.notReady, "The service is stopping.").retrying(after: 1) }
        let problem = Problem(error)
        if problem.code == .internalError || problem.code == .databaseUnavailable {
            call.logger.error(
                "A request failed",
                metadata: [
                    "request.id": "\(call.id.text)", "problem.code": "\(problem.code.rawValue)", "error": "\(error)",
                    "trace.parent": "\(call.headers[.traceparent] ?? "-")",
                ]
            )
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
        requests = registry.counter(
            "fetchd_http_requests_total",
            "Requests answered, by method, route and status.",
            labels: "method",
            "route",
            "status"
        )
        durations = registry.histogram(
            "fetchd_http_request_duration_seconds",
            "Time until the head of the answer was ready, by route.",
            labels: "route"
        )
        refusals = registry.counter(
            "fetchd_limit_refusals_total", "Requests refused because a limit was reached, by limit.", labels: "limit")
    }

    func countRefusal(by limit: String) { refusals[limit].add() }

    func count(method: HTTPRequest.Method, route: String, status: HTTPResponse.Status, duration: Duration) {
        requests[method.label, route, String(status.code)].add()
        durations[route].observe(duration)
    }
}
