/// An answer as the cache keeps it.
public struct CachedResponse: Sendable {
    /// Where it may be kept.
    public enum StoragePolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// In memory and on disk.
        case allowed
        /// In memory.
        case allowedInMemoryOnly
        /// Nowhere.
        case notAllowed

        /// Whether this keeps a response in more places than another policy.
        package func isLaxer(than other: Self) -> Bool {
            switch self {
            case .allowed: other != .allowed
            case .allowedInMemoryOnly: other == .notAllowed
            case .notAllowed: false
            }
        }
    }

    /// The answer without its body.
    public var response: Response
    /// The body.
    public var data: [UInt8]
    /// The values that the delegate attached to it.
    public var userInfo: [String: String]
    /// Where it may be kept.
    public var storagePolicy: StoragePolicy

    /// Makes an entry.
    public init(
        response: Response, data: [UInt8], userInfo: [String: String] = [:], storagePolicy: StoragePolicy = .allowed
    ) {
        self.response = response
        self.data = data
        self.userInfo = userInfo
        self.storagePolicy = storagePolicy
    }
}
