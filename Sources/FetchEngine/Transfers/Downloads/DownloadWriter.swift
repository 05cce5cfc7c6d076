import EventLoop

/// Writes the file of one download, off the loop that transfers run on: a disk may take its time.
actor DownloadWriter {
    /// The threads that files are written on; more would only wait for the same disks.
    static let loops = ["files-1", "files-2"].map { EventLoop(name: $0) }

    private let loop: EventLoop
    let plan: DownloadPlan
    private var file: DownloadFile?
    private var reserved: ReservedDestination?
    private var decoder: (any BodyDecoder)?
    private var limit: DecodingLimit
    private var digest: HashStream?
    private let hasCheckedHash: Bool
    /// Of what is written; nil where nobody asks, and where the digest that is checked is the same.
    private let fileHash: HashStream?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter decoder: One that has read its part of the head already.
    init(_ plan: DownloadPlan, decoder: (any BodyDecoder)?, number: UInt64) {
        self.plan = plan
        self.decoder = decoder
        loop = Self.loops[Int(number % UInt64(Self.loops.count))]
        limit = DecodingLimit(plan.decodingLimits)
        digest = plan.expectedDigest.map { $0.algorithm.stream() }
        let hasCheckedHash = decoder == nil && plan.expectedDigest?.algorithm == .sha256
        let hashes = plan.hashesFile && plan.resumed == nil && !hasCheckedHash
        fileHash = hashes ? ContentDigest.sha256.stream() : nil
        self.hasCheckedHash = hasCheckedHash
    }

    /// Makes the file, or opens the one that is continued, and takes the final name.
    ///
    /// May be called again when there was no descriptor.
    ///
    /// - Returns: The final path; nil for a temporary file.
    func open() throws(LoadError) -> String? {
        if let destination = plan.destination, reserved == nil { reserved = try ReservedDestination(destination) }
        if let resumed = plan.resumed {
            file = try DownloadFile(continuing: resumed.path, at: resumed.byteCount)
            try readDigest(of: resumed)
        } else {
            file = try DownloadFile(in: plan.destination?.directory ?? plan.temporaryDirectory + "/")
        }
        return reserved?.path
    }

    /// The digest is of the whole file, so the partial file is read again.
    private func readDigest(of resumed: ResumeData) throws(LoadError) {
        guard let digest else { return }
        try DownloadFile.read(resumed.path, upTo: resumed.byteCount) { digest.append($0) }
    }

    /// Appends bytes, decoded if the file is decoded.
    ///
    /// - Returns: How many bytes the file has now.
    func append(_ bytes: [UInt8]) async throws(LoadError) -> Int64 {
        digest?.append(bytes)
        guard decoder != nil else { return try write(bytes) }
        limit.received(bytes.count)
        // Small pieces, so that the output of one stays small too.
        for start in stride(from: 0, to: bytes.count, by: 4096) {
            let piece = Array(bytes[start..<min(start + 4096, bytes.count)])
            let decoded = try decoder?.decode(piece) ?? []
            _ = try writeDecoded(decoded)
            // Other downloads have their turn.
            if decoded.count > 64 * piece.count { await Task.yield() }
        }
        return file?.count ?? 0
    }

    /// Appends bytes that were decoded before the file was there, and counts their source bytes.
    func append(decoded bytes: [UInt8], of source: [UInt8]) throws(LoadError) -> Int64 {
        digest?.append(source)
        limit.received(source.count)
        return try writeDecoded(bytes)
    }

    private func writeDecoded(_ bytes: [UInt8]) throws(LoadError) -> Int64 {
        try limit.produced(bytes.count)
        return try write(bytes)
    }

    private func write(_ bytes: [UInt8]) throws(LoadError) -> Int64 {
        fileHash?.append(bytes)
        try file?.write(bytes)
        return file?.count ?? 0
    }

    /// Checks that the file is whole and puts it in its place.
    func finish() throws(LoadError) -> DownloadedFile {
        if decoder != nil { _ = try writeDecoded(try decoder?.finish() ?? []) }
        if let expected = plan.expectedDigest, let digest, digest.finish() != expected.bytes {
            throw ExpectedDigest.mismatch
        }
        guard let file else { throw LoadError(.cannotWriteToFile, "There is no file.") }
        if let total = plan.expectedCount, decoder == nil, file.count != total {
            throw LoadError(.networkConnectionLost, "The download has another length than it was to have.")
        }
        if let reserved { try reserved.fill(with: file) } else { try file.close() }
        self.file = nil
        return DownloadedFile(
            path: reserved?.path ?? file.path, isTemporary: reserved == nil, byteCount: file.count,
            sha256: sha256, plan: plan, attributes: decoder?.attributes ?? DecodedAttributes())
    }

    /// The hash of the whole file, once its digest is checked.
    private var sha256: [UInt8]? {
        guard plan.hashesFile, plan.resumed == nil else { return nil }
        return hasCheckedHash ? plan.expectedDigest?.bytes : fileHash?.finish()
    }

    /// Where the file grows.
    var partialPath: String? { file?.path }

    /// The resume data of the download after the bytes so far; nil when it cannot be resumed.
    func resumeData(of request: Request) -> ResumeData? {
        guard let file, case .resumable(let validator) = plan.resumability else { return nil }
        return ResumeData(
            url: request.url, finalURL: plan.response.url, byteCount: file.count, totalCount: plan.expectedCount,
            validator: validator, contentCoding: plan.response.contentCoding, path: file.path,
            requestIdentity: request.resumeIdentity, headerFields: plan.response.headerFields)
    }

    /// Gives up the file, or keeps its part.
    ///
    /// - Returns: The resume data of the download; nil when nothing was kept.
    func abandon(keeping: Bool, of request: Request) throws(LoadError) -> ResumeData? {
        defer { file = nil }
        try reserved?.release()
        guard let file else { return nil }
        guard keeping, file.count > 0, let data = resumeData(of: request) else {
            try file.close()
            try file.remove()
            return nil
        }
        try file.sync()
        try file.close()
        return data
    }
}
