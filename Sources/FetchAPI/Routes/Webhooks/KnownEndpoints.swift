import FetchJobs

/// The endpoints that jobs, sessions, groups and schedules name: by their ids, or by their addresses.
struct KnownEndpoints: Sendable {
    private let ids: KnownIDs<WebhookEndpoint.Kind>
    private let delegates: KnownIDs<WebhookEndpoint.Kind>
    private let store: any WebhookStore
    private let check: WebhookURLCheck

    init(store: any WebhookStore, check: @escaping WebhookURLCheck) {
        self.store = store
        self.check = check
        ids = KnownIDs(at: "/webhook/endpoint", "is not an endpoint of yours") {
            try await store.endpoint($0, of: $1) != nil
        }
        // One that is polled answers nothing.
        delegates = KnownIDs(at: "/configuration/delegate/endpoint", "is not an endpoint of yours that has a url") {
            try await store.endpoint($0, of: $1)?.url != nil
        }
    }

    /// Refuses an endpoint that the tenant does not have, and an address for which no endpoint can be made.
    ///
    /// An endpoint stays, is sent what others submit for its address, and is the tenant's as any other: so a new one needs
    /// the scope that `/v1/webhooks/endpoints` asks for.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, whose endpoint has to exist too.
    ///   - owner: The key of the request; nil for none, which may make endpoints.
    /// - Returns: The endpoint that has the address of the webhook: the oldest one that is enabled. Nil when there is
    ///   none yet, and when the webhook has no address.
    @discardableResult
    nonisolated(nonsending) func check(
        _ webhook: JobSpec.Webhook?, asking delegate: Configuration.Delegate = .init(), of tenant: Tenant.ID,
        by owner: APIKey?
    ) async throws -> WebhookEndpoint.ID? {
        try await delegates.require(delegate.endpoint, of: tenant)
        try await ids.require(webhook?.endpoint, of: tenant)
        guard let url = webhook?.url else { return nil }
        if let known = try await store.endpointID(.url(url), of: tenant) { return known }
        try owner?.requireEndpoint()
        if let refusal = await check(url, tenant) { throw InvalidInput(pointer: "/webhook/url", message: refusal) }
        guard try await store.hasRoom(of: tenant) else { throw Self.isFull }
        return nil
    }

    private static let isFull = InvalidInput(
        pointer: "/webhook/url",
        message: "is new, and there are \(WebhookEndpoint.maximumCount) endpoints: name one, or remove some")

    /// Checks a webhook, and replaces its address by the endpoint that has it; adds one when there is none.
    nonisolated(nonsending) func settle(
        _ webhook: inout JobSpec.Webhook?, asking delegate: Configuration.Delegate = .init(), of tenant: Tenant.ID,
        by owner: APIKey?
    ) async throws {
        var endpoint = try await check(webhook, asking: delegate, of: tenant, by: owner)
        guard let url = webhook?.url else { return }
        if endpoint == nil {
            let new = WebhookEndpoint(tenant: tenant, url: url, events: WebhookEvent.ends)
            guard try await store.add(new) else { throw Self.isFull }
            endpoint = new.id
        }
        webhook?.endpoint = endpoint
        webhook?.url = nil
    }

    func forget(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) {
        ids.forget(id, of: tenant)
        delegates.forget(id, of: tenant)
    }
}

extension APIKey {
    fileprivate func requireEndpoint() throws(Problem) {
        do { try require(.webhooks) } catch {
            var problem = error
            problem.detail =
                "No endpoint has the address of webhook.url yet, and the key lacks the scope webhooks, which makes endpoints."
            throw problem
        }
    }
}
