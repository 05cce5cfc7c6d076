/// An event of a running job for the endpoint that wants it.
package struct RunEvent: Sendable {
    /// Made when the event is seen, so that the ids of a job's events are in their order.
    package let id = WebhookDelivery.ID()
    package let tenant: Tenant.ID
    package let endpoint: WebhookEndpoint.ID
    package let job: Job.ID
    package let session: TenantSession.ID?
    package let event: WebhookEvent
    /// The `data` of its message: a JSON object with the job's id, the place of the event among those of its job, and
    /// the event's own members.
    package let data: RawJSON

    /// Nil when there is no webhook for such an event.
    package init?(
        _ event: JobEvent, of job: Job.ID, in session: TenantSession.ID?, tenant: Tenant.ID,
        to endpoint: WebhookEndpoint.ID
    ) {
        guard let name = WebhookEvent(rawValue: event.name.rawValue) else { return nil }
        (self.tenant, self.endpoint, self.job, self.session, self.event) = (tenant, endpoint, job, session, name)
        data = RawJSON(
            JSONWriter.object { writer in
                writer.member("job", object: { $0.member("id", job.description) })
                writer.member("sequence", event.position.description)
                writer.member("details", event.data)
            })
    }
}
