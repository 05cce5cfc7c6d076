import FetchEngine
package import FetchJobs

/// The contract of every form of ``SessionResources``, for a tenant that has stored nothing.
package enum SessionResourcesContract {
    private static let tenant = Tenant.ID.first
    private static let one = SessionAddress(tenant: tenant, session: TenantSession.ID())
    private static let two = SessionAddress(tenant: tenant, session: TenantSession.ID())

    /// The four stores of a session, by the objects that they are.
    private static func stores(of session: SessionAddress, _ resources: any SessionResources) -> [AnyObject] {
        [
            resources.cookieStorage(of: session), resources.credentialStorage(of: session),
            resources.cache(of: session), resources.answerMemory(of: session),
        ]
    }

    private static func areSame(_ some: [AnyObject], _ others: [AnyObject]) -> [Bool] {
        zip(some, others).map { $0 === $1 }
    }

    package static let clauses: [Clause<any SessionResources>] = [
        Clause("who asks for a store of a session has the object that others have") { resources in
            let first = stores(of: one, resources)
            return compare("same", areSame(first, stores(of: one, resources)), [true, true, true, true])
        },
        Clause("sessions have stores of their own, and so has the tenant beside them") { resources in
            let (first, second) = (stores(of: one, resources), stores(of: two, resources))
            let tenants = stores(of: SessionAddress(tenant: tenant), resources)
            return compare("two", areSame(first, second), [false, false, false, false])
                + compare("tenant", areSame(first, tenants), [false, false, false, false])
        },
        Clause("a session for which no identity is stored holds none") { resources in
            compare("holds", await resources.holdsIdentities(of: one), false)
        },
        Clause("a credential that nobody has stored is not opened") { resources in
            let opened = try await resources.openCredential(StoredCredential.ID(), of: tenant, for: nil)
            return compare("opened", opened == nil, true)
        },
    ]
}
