/// What is known of the object store: it is asked when somebody wants to know, and not again for a while.
package actor ObjectStoreWatch {
    private static let validity = Duration.seconds(5)

    private let store: S3BlobStore
    private var known: (health: S3BlobStore.Health, at: ContinuousClock.Instant)?
    private var isAsking = false

    package init(_ store: S3BlobStore) { self.store = store }

    package func health() async -> S3BlobStore.Health {
        // While one caller asks, others get what was known before.
        if let known, isAsking || ContinuousClock.now < known.at + Self.validity { return known.health }
        isAsking = true
        let health = await store.health()
        isAsking = false
        // A caller that left has broken the question off.
        if !Task.isCancelled { known = (health, .now) }
        return health
    }
}
