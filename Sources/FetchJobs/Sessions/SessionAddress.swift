/// Which session of which tenant.
package struct SessionAddress: Hashable, Sendable {
    package let tenant: Tenant.ID
    package let session: TenantSession.ID

    package init(tenant: Tenant.ID, session: TenantSession.ID = .default) {
        self.tenant = tenant
        self.session = session
    }
}

/// How new the stores of a session are.
///
/// Every write raises a number. A node compares them with those of its memory, and reads only when it is behind.
package struct StoresVersion: Sendable, Hashable {
    /// Of the session's cookies.
    package var cookies: Int64 = 0
    /// Of the credentials of the session's tenant.
    package var credentials: Int64 = 0
    /// Of the session's cached answers.
    package var cache: Int64 = 0
    /// Of the answers that the session remembers.
    package var answers: Int64 = 0

    package init(cookies: Int64 = 0, credentials: Int64 = 0, cache: Int64 = 0, answers: Int64 = 0) {
        self.cookies = cookies
        self.credentials = credentials
        self.cache = cache
        self.answers = answers
    }
}
