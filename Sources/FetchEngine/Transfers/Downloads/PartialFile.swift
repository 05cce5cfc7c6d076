import HTTPTypes

/// The partial file of an earlier download, read on a thread for files.
actor PartialFile {
    private let path: String

    nonisolated var unownedExecutor: UnownedSerialExecutor { DownloadWriter.loops[0].asUnownedSerialExecutor() }

    init(_ path: String) { self.path = path }

    /// The digest of its first bytes.
    func digest(upTo count: Int64, by algorithm: ContentDigest) throws(LoadError) -> [UInt8] {
        let stream = algorithm.stream()
        try DownloadFile.read(path, upTo: count) { stream.append($0) }
        return stream.finish()
    }
}

extension ResumeData {
    /// Whether the file is complete; without a stated length, its digest decides.
    ///
    /// - Parameter expected: The digest that the whole must have; nil for the one that the server stated, for the bytes
    ///   as they came.
    nonisolated(nonsending) func isWhole(_ expected: ExpectedDigest?) async -> Bool {
        guard byteCount > 0, totalCount == nil else { return hasWholeLength }
        let stated = ExpectedDigest(field: headerFields[values: .reprDigest])
        guard let expected = expected ?? stated else { return false }
        // A file that cannot be read is not complete: the server is asked.
        return await (try? PartialFile(path).digest(upTo: byteCount, by: expected.algorithm)) == expected.bytes
    }
}
