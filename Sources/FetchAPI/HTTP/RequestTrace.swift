import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// The trace of one request of the API, or of a form of the dashboard (W3C Trace Context).
struct RequestTrace: Sendable {
    /// The place that what follows goes on from: the span of the request where that is recorded, else its caller's.
    let context: TraceContext
    private let caller: TraceContext?
    private let start = Timestamp.now

    /// - Parameters:
    ///   - tracer: Takes the spans of requests; nil where nobody wants them, and traces are passed on as they come.
    /// - Returns: nil when the request is in no trace.
    init?(of fields: HTTPFields, _ tracer: Tracer?) {
        let caller = TraceContext(fields)
        guard let context = tracer.map({ $0.context(below: caller) }) ?? caller else { return nil }
        self.caller = caller
        self.context = context
    }

    /// The span of the request, when its head was answered.
    ///
    /// A path has the ids and names of the API, and no secret; those of forms have none in it either.
    func span(
        of call: Call, at route: String, answeredBy response: Response, code: ProblemCode?, for tenant: Tenant.ID?
    ) -> Span {
        let method = call.request.method.label
        var span = Span(
            "\(method == "other" ? "HTTP" : method) \(route)", .server, context, parent: caller?.span,
            hasRemoteParent: caller != nil, from: start, to: .now)
        span.set("http.request.method", method == "other" ? "_OTHER" : method)
        span.set("http.route", route)
        span.set("url.path", call.request.uri.path)
        span.set("url.scheme", call.request.head.scheme ?? "http")
        span.set("http.response.status_code", response.status.code)
        span.set("fetchd.request.id", call.id.text)
        span.set("fetchd.tenant.id", tenant.map { "\($0)" })
        if let code, response.status.kind == .serverError { span.fail(code.rawValue) }
        return span
    }
}
