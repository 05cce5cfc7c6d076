package import FetchJobs

extension JobSpec {
    /// A valid spec with everything left at its default that the test does not care for.
    package static func make(
        url: String = "http://origin.example/a?secret=1",
        method: String = "GET",
        more: String = ""
    ) throws -> JobSpec {
        let text = #"{"request": {"url": "\#(url)", "method": "\#(method)"}\#(more)}"#
        return try JobSpec(json: try JSONParser.parse(text.utf8))
    }
}

extension NewJob {
    /// A job of the default tenant.
    package static func make(
        method: String = "GET",
        more: String = "",
        key: String? = nil,
        fingerprint: UInt8 = 0
    ) throws -> NewJob {
        let digest = SHA256Digest(bytes: Array(repeating: fingerprint, count: 32))
        return NewJob(
            tenant: Tenant.ID(rawValue: 1),
            spec: try .make(method: method, more: more),
            idempotency: key.map { Idempotency(key: $0, fingerprint: digest) }
        )
    }

    /// A job of a tenant for a host.
    package static func make(of tenant: Tenant.ID, host: String = "a.example") throws -> NewJob {
        NewJob(tenant: tenant, spec: try JobSpec.make(url: "http://\(host)/"))
    }
}

extension JobOutcome {
    /// An outcome as a transfer gives it.
    package static func make(_ state: JobState = .succeeded, body: Body? = nil) -> JobOutcome {
        var outcome = JobOutcome(state: state, startedAt: .now, finishedAt: .now)
        if state == .succeeded {
            outcome.status = 200
            outcome.response = StoredResponse(json: RawJSON(Array(#"{"status":200,"mimeType":"text/plain"}"#.utf8)))
        } else {
            outcome.errorName = state == .failed ? "timedOut" : "cancelled"
            outcome.error = RawJSON(Array(#"{"name":"timedOut"}"#.utf8))
        }
        outcome.transfers = StoredTransfers(json: RawJSON(Array("[]".utf8)))
        outcome.body = body
        return outcome
    }
}
