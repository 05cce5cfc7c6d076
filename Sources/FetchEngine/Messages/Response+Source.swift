extension Response {
    /// Where a response came from.
    public enum Source: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the server, or from a protocol handler.
        case network
        /// From the cache, without asking the server.
        case cache
        /// From the cache, once the server had confirmed it.
        case revalidated
    }
}
