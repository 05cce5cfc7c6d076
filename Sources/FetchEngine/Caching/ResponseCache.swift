/// Stores responses and returns them: the contract of a session's ``SessionConfiguration/urlCache``.
///
/// A cache only stores. Which answer may be stored and when it may be used again is decided by the engine, from the
/// entries it is given. All methods may be called at any time from anywhere; an entry is visible once its body is
/// whole and never before. A cache that cannot read or write behaves as if it were empty.
public protocol ResponseCache: AnyObject, Sendable {
    /// The entries stored for a key.
    ///
    /// - Parameters:
    ///   - key: The key under which they are stored.
    ///   - request: The request that may use them. A cache that knows an entry it selects may leave out others.
    nonisolated(nonsending) func entries(for key: CacheKey, selectedBy request: Request) async -> [CacheEntry]

    /// The body of an entry, or nil when that version of it is no longer there.
    nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody?

    /// Begins to store an entry, whose body then follows; nil when it will not be stored.
    ///
    /// - Parameter entry: Its ``CacheEntry/bodyLength`` is the length that the server announced, or zero.
    nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)?

    /// Stores the entry with the body of another version, unless that is no longer there.
    nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async

    /// Forgets a version of an entry.
    nonisolated(nonsending) func remove(_ entry: CacheEntry) async

    /// Forgets everything stored for a key.
    nonisolated(nonsending) func removeEntries(for key: CacheKey) async

    /// Forgets everything that came at that time or later.
    nonisolated(nonsending) func removeEntries(since time: UnixTime) async

    /// Forgets everything.
    nonisolated(nonsending) func removeAllEntries() async

    /// The most bytes a body may have that is stored.
    var maximumEntryBytes: Int64 { get }

    /// The key of the digests by which entries are selected, so that other readers of the storage learn no credentials;
    /// nil, the default, when there are no other readers.
    var selectionKey: [UInt8]? { get }
}

extension ResponseCache {
    /// No key.
    public var selectionKey: [UInt8]? { nil }
}

/// Takes the body of one entry.
///
/// Dropping it without ``commit(_:)`` stores nothing.
public protocol CacheWriter: AnyObject, Sendable {
    /// Takes the next bytes; false when nothing will be stored, because there are too many of them for example.
    nonisolated(nonsending) func append(_ bytes: [UInt8]) async -> Bool

    /// Stores the entry with the bytes taken, in place of the one that the same requests select.
    ///
    /// - Parameter entry: The entry the writer was made for, with any changes of the delegate.
    nonisolated(nonsending) func commit(_ entry: CacheEntry) async
}

/// A stored body.
public enum CachedBody: Sendable {
    /// In memory.
    case bytes([UInt8])
    /// To be read piece by piece.
    case stream(any CachedBodyReader)
}

/// Reads a stored body from its beginning.
public protocol CachedBodyReader: AnyObject, Sendable {
    /// The next bytes, or nil at the end.
    ///
    /// - Throws: ``LoadError`` when they cannot be read any more.
    nonisolated(nonsending) func next() async throws(LoadError) -> [UInt8]?
}
