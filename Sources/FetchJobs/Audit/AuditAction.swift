/// What was done, as the audit log names it: a subject and a verb.
package enum AuditAction: String, Sendable, CaseIterable {
    case makeKey = "keys.create"
    case rotateKey = "keys.rotate"
    case revokeKey = "keys.revoke"
    /// A key or token was used, for the first time on a day from a network.
    case useKey = "keys.use"
    /// The next key that requests are signed with has become the current one.
    case rotateSigningKeys = "signingKeys.rotate"

    case setCredential = "credentials.set"
    case removeCredential = "credentials.delete"
    /// A job was given a stored credential.
    case useCredential = "credentials.use"

    case pauseQueue = "queue.pause"
    case resumeQueue = "queue.resume"
    case limitQueue = "queue.limit"
    case changeTenant = "tenants.change"

    case setLimiter = "limiters.set"
    case pauseLimiter = "limiters.pause"
    case resumeLimiter = "limiters.resume"
    case removeLimiter = "limiters.delete"
    case skipBlock = "limiters.skip"
    case resetRate = "limiters.resetRate"

    case cancelJobs = "jobs.cancel"
    case suspendJobs = "jobs.suspend"
    case resumeJobs = "jobs.resume"
    /// Jobs that had failed or were cancelled begin again.
    case retryJobs = "jobs.retry"
    case removeJobs = "jobs.delete"
    case removeBlob = "blobs.delete"

    case invalidateSession = "sessions.invalidate"
    case removeSession = "sessions.delete"
    case removeSnapshot = "snapshots.delete"
    case removeGroup = "groups.delete"
    case changeURLGroup = "urlGroups.change"
    case removeURLGroup = "urlGroups.delete"
    case changeSchedule = "schedules.change"
    case removeSchedule = "schedules.delete"

    case addEndpoint = "webhooks.create"
    case changeEndpoint = "webhooks.change"
    case removeEndpoint = "webhooks.delete"

    case purgeCache = "cache.purge"
    case forgetAnswers = "answers.delete"
    case answerQuestion = "questions.answer"

    case setProtocol = "protocols.set"
    case rotateProtocol = "protocols.rotate"
    case removeProtocol = "protocols.delete"
    case replaceRules = "rules.replace"
    case setEgress = "egress.set"
    case removeEgress = "egress.delete"

    case revokeToken = "tokens.revoke"
    case restoreToken = "tokens.restore"
    /// A link was made that signs in to the dashboard once.
    case makeLink = "dashboard.createLink"
    case signIn = "dashboard.signIn"
    case failToSignIn = "dashboard.signInFailed"
    case signOut = "dashboard.signOut"
    /// An operator has read what is not his own tenant's.
    case readAsOperator = "admin.read"
    case refuseRequest = "requests.refuse"
    case refuseTarget = "targets.refuse"
}
