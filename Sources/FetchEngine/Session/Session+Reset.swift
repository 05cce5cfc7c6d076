import Synchronization

extension Session {
    /// Empties the session's cookie storage, its cache and its credential storage, and
    /// gives up the connections that are idle.
    ///
    /// A storage or a cache that others share is empty for them too.
    public func reset() async throws(LoadError) {
        try await configuration.httpCookieStorage?.removeCookies(since: nil)
        await configuration.urlCache?.removeAllCachedResponses()
        await (configuration.credentialStorage ?? state.ownCredentials).removeAll()
        state.spaces.withLock { $0 = SpaceMemory() }
        flush()
    }
}
