package import FetchEngine

/// How far a target is judged.
package enum TargetLook: Sendable {
    /// By its URL alone: nothing is sent.
    case url
    /// By the addresses of its name too, which are looked up.
    case addresses
}

/// The verdict on a target, for its client.
package struct TargetJudgement: Sendable {
    /// The code of the rule that refuses it, with its sentence; nil when jobs may go there.
    package let refusal: (code: String, reason: String)?
    /// Whether its name has addresses; nil when it was not looked up.
    package let resolves: Bool?

    package init(refusal: (code: String, reason: String)? = nil, resolves: Bool? = nil) {
        self.refusal = refusal
        self.resolves = resolves
    }
}

/// Whether jobs of a tenant may reach a URL.
package typealias TargetCheck = @Sendable (URLRecord, Tenant.ID, TargetLook) async -> TargetJudgement
