import FetchJobs

/// What requests to an object store are signed with: keys that stay, or those that the environment leads to, which are
/// looked for again before they end.
actor S3Keys {
    /// So long before their end others are looked for; until then the old ones are good if that fails.
    private static let margin = Duration.seconds(300)
    /// Between two looks into a file, and after a look that failed.
    private static let pause = Duration.seconds(60)

    private var found: AWSEnvironment.Found?
    /// When to look again; nil for never.
    private var lookAt: Timestamp?
    /// All who need keys at the same time share one look; nil where none is needed.
    private let looking: Batcher<Void, AWSEnvironment.Found>?

    init(_ credentials: SignatureV4.Credentials) {
        found = AWSEnvironment.Found(credentials: credentials)
        looking = nil
    }

    init(finding find: @escaping @Sendable () async throws(StoreError) -> AWSEnvironment.Found) {
        looking = Batcher(maximumItems: .max) { callers in
            let found = try await find()
            return callers.map { found }
        }
    }

    /// Whether a store that refuses the keys may take the next ones.
    nonisolated var mayChange: Bool { looking != nil }

    func current() async throws(StoreError) -> SignatureV4.Credentials {
        if let found, lookAt.map({ Timestamp.now < $0 }) ?? true { return found.credentials }
        do {
            guard let new = try await looking?.submit([()]).first else { throw AWSEnvironment.failure("none are set") }
            take(new)
            return new.credentials
        } catch {
            guard let found, found.expiresAt.map({ Timestamp.now < $0 }) ?? true else { throw StoreError(error) }
            lookAt = .now.advanced(by: Self.pause)
            return found.credentials
        }
    }

    private func take(_ new: AWSEnvironment.Found) {
        found = new
        lookAt = new.expiresAt.map { $0.advanced(by: .zero - Self.margin) }
        if new.isOfFile { lookAt = .now.advanced(by: Self.pause) }
    }

    /// Looks again before the next request: the store does not take these any more.
    func forget() { if mayChange { lookAt = .now } }
}
