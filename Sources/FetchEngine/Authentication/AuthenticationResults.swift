/// What the challenges of a task have come to, the one at hand aside.
struct AuthenticationResults: Sendable, Equatable {
    /// The user name and password of a URL, which are for its server alone.
    struct OfURL: Sendable, Equatable {
        var server: ProtectionSpace.Party
        var credential: Credential
    }

    /// How often authentication has failed, in all spaces together.
    var failureCount = 0
    /// What has convinced; it needs no second question.
    var accepted: [ProtectionSpace: Credential] = [:]
    var failed: [ProtectionSpace: Credential] = [:]
    var rejected: Set<ProtectionSpace> = []
    /// What comes with the task's URL.
    var ofURL: OfURL?
}
