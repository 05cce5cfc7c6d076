/// What an API key may do (SEC-40).
package enum Scope: String, Sendable, CaseIterable {
    /// Reading jobs, their bodies and questions, groups, limits and statistics.
    case readJobs = "jobs:read"
    /// Submitting, changing and removing jobs, groups and what jobs send.
    case writeJobs = "jobs:write"
    /// Setting the limits of hosts and flows, and pausing and draining them and the queue.
    case limits
    /// Sessions and what they store: cookies, cached answers, remembered answers, snapshots.
    case sessions
    case credentials
    case webhooks
    /// Answering questions.
    case questions
    case schedules
    /// Making, rotating and revoking keys of the tenant, with no more rights than those of the key itself.
    case keys
    /// Reading who did what in the name of the tenant.
    case audit
    /// What operators do, for all tenants.
    case admin
}

extension Set<Scope> {
    package static let all = Set(Scope.allCases)
    /// All that a tenant can do with what is its own.
    package static let tenant = Self.all.subtracting([.admin])

    /// The scopes in the order of their declaration.
    package var sorted: [Scope] { Scope.allCases.filter(contains) }
}

/// A set of scopes with a name, for keys of people and their sign-ins to the dashboard; each has those of the one before.
package enum Role: String, Sendable, CaseIterable, Comparable {
    /// Reads.
    case viewer
    /// Acts on jobs, questions and limits too.
    case `operator`
    /// Does everything, for all tenants.
    case admin

    package var scopes: Set<Scope> {
        switch self {
        case .viewer: [.readJobs]
        case .operator: [.readJobs, .writeJobs, .limits, .questions]
        case .admin: .all
        }
    }

    /// The last role whose scopes are all among these; nil when there is none.
    package init?(_ scopes: Set<Scope>) {
        guard let role = Self.allCases.last(where: { $0.scopes.isSubset(of: scopes) }) else { return nil }
        self = role
    }

    package static func < (left: Role, right: Role) -> Bool { left.scopes.isStrictSubset(of: right.scopes) }
}
