import EventLoop

/// Reads the body of an open cache file.
actor CacheFileReader: CachedBodyReader {
    private let file: CacheDescriptor
    private let length: Int64
    private var offset: Int64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { CacheDirectory.loop.asUnownedSerialExecutor() }

    init(_ file: CacheDescriptor, length: Int64) {
        self.file = file
        self.length = length
    }

    nonisolated(nonsending) func next() async throws(LoadError) -> [UInt8]? { try await piece() }

    private func piece() throws(LoadError) -> [UInt8]? {
        guard offset < length else { return nil }
        let count = Int(min(length - offset, Int64(CacheDescriptor.chunk)))
        guard let bytes = file.read(at: offset, count: count) else {
            throw LoadError(.cannotOpenFile, "A stored body could not be read.")
        }
        offset += Int64(count)
        return bytes
    }
}
