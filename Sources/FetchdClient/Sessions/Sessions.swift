import HTTPTypes

/// The sessions of a tenant.
public struct Sessions: Sendable {
    let transport: Transport

    /// A session as it stands.
    public func get(_ id: String) async throws(FetchdError) -> ServiceSession {
        try await transport.value(Call(.get, Call.path("sessions", id)))
    }

    /// The sessions of an identifier, those that are invalidated included, the newest first.
    public func list(identifier: String? = nil) -> PageSequence<ServiceSession> {
        PageSequence(transport: transport, path: "/v1/sessions", query: [("identifier", identifier)])
    }

    /// What endpoints are told of a session and its jobs, in the order in which it was made.
    ///
    /// - Parameter event: Only what comes behind this event.
    public func events(_ id: String, after event: String? = nil) -> PageSequence<SessionEvent> {
        PageSequence(transport: transport, path: Call.path("sessions", id, "events"), query: [("after", event)])
    }

    /// The live background session of an identifier, which is made where there is none.
    ///
    /// - Parameter configuration: A `LoadConfiguration` of the API; one that is there already keeps its own.
    func background(_ identifier: String, _ configuration: JSONValue) async throws(FetchdError) -> ServiceSession {
        for try await session in list(identifier: identifier) where session.state == "active" { return session }
        let document: JSONValue = [
            "kind": "background", "identifier": .string(identifier), "configuration": configuration,
        ]
        do throws(FetchdError) {
            return try await transport.value(Call(.post, "/v1/sessions").with(document))
        } catch  where error.status == 409 {
            // Another client has made it meanwhile.
            for try await session in list(identifier: identifier) where session.state == "active" { return session }
            throw error
        }
    }

    /// Lets a session take no jobs any more.
    func invalidate(_ id: String, mode: String) async throws(FetchdError) {
        _ = try await transport.document(
            Call(.post, Call.path("sessions", id, "invalidate"), query: [("mode", mode)]))
    }
}
