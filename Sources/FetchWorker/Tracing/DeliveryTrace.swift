import FetchEngine
import FetchJobs
import FetchRuntime

/// The trace of one attempt to deliver an event.
struct DeliveryTrace {
    /// What the receiver goes on with: the span of the attempt where that is recorded, else where the job came from.
    let context: TraceContext
    private let parent: SpanID

    /// - Parameter tracer: Takes the spans of attempts; nil for nobody.
    /// - Returns: nil when its job is in no trace, and for an event that is about no job.
    init?(of delivery: WebhookDelivery, _ tracer: Tracer?) {
        guard case .job(let id) = delivery.subject, let trace = delivery.trace ?? tracer?.root(of: id) else {
            return nil
        }
        parent = SpanID(of: id)
        context = tracer != nil && trace.isSampled ? trace.at(SpanID()) : trace
    }

    /// The attempt, once it is over.
    ///
    /// The path of an endpoint may be a secret, and is left out.
    func span(of attempt: DeliveryAttempt, to endpoint: WebhookEndpoint, _ delivery: WebhookDelivery) -> Span {
        var span = Span(
            "webhook \(delivery.event.rawValue)", .client, context, parent: parent, from: attempt.startedAt,
            to: attempt.startedAt.advanced(by: attempt.duration))
        span.set("http.request.method", "POST")
        span.set("server.address", endpoint.url?.host)
        span.set("server.port", endpoint.url?.effectivePort)
        span.set("http.response.status_code", attempt.answer?.status)
        if attempt.number > 1 { span.set("http.request.resend_count", attempt.number - 1) }
        span.set("fetchd.delivery.id", delivery.id.description)
        span.set("fetchd.endpoint.id", endpoint.id.description)
        span.set("fetchd.job.id", delivery.subject.description)
        span.set("fetchd.tenant.id", "\(delivery.tenant)")
        if let name = attempt.errorName {
            span.fail(name)
        } else if let status = attempt.answer?.status, !(200..<300).contains(status) {
            span.fail(String(status))
        }
        return span
    }
}
