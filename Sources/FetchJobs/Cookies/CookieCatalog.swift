package import FetchEngine

/// The cookies of sessions, as those see them who query and change them.
package protocol CookieCatalog: Sendable {
    /// All cookies of a session that have not expired, in the order they were first set.
    func cookies(of session: SessionAddress) async throws(StoreError) -> [Cookie]

    /// Takes cookies in place of those of the same name, domain and path, as a program sets them.
    func set(_ cookies: [Cookie], in session: SessionAddress) async throws(StoreError)

    /// Removes cookies; missing ones are no error.
    func remove(_ cookies: [Cookie], from session: SessionAddress) async throws(StoreError)
}
