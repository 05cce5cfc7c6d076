extension Session {
    /// Forgets what the session has learned: empties its cookie storage, and gives up the connections that are idle.
    ///
    /// A storage that others share is empty for them too.
    public func reset() async throws(LoadError) {
        try await configuration.httpCookieStorage?.removeCookies(since: nil)
        flush()
    }
}
