/// The results of the challenges of a task, without the challenge at hand.
struct AuthenticationResults: Sendable, Equatable {
    /// The user name and password of a URL, which are for its server alone.
    struct OfURL: Sendable, Equatable {
        var server: ProtectionSpace.Party
        var credential: Credential
    }

    /// How often authentication has failed, in all spaces together.
    var failureCount = 0
    /// The credentials that servers and proxies have accepted; they are used again without a question.
    var accepted: [ProtectionSpace: Credential] = [:]
    var failed: [ProtectionSpace: Credential] = [:]
    var rejected: Set<ProtectionSpace> = []
    /// The credential in the task's URL.
    var ofURL: OfURL?
}
