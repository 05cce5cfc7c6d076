extension RequestBody {
    /// The whole content, for a ``ProtocolHandler`` that takes it in one piece.
    ///
    /// - Parameter limit: More bytes than this fail with `dataLengthExceedsMaximum`.
    /// - Throws: The error of opening the file, or of getting the stream.
    public func content(upTo limit: Int) async throws(LoadError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return try Self.checked(bytes, limit)
        case .file(let path): return try Self.content(of: UploadSource(path: path), upTo: limit)
        case .segments(let segments): return try Self.content(of: UploadSource(segments: segments), upTo: limit)
        case .stream(_, let provider):
            guard let pipe = await provider.makeStream() else {
                throw LoadError(.requestBodyStreamExhausted, "The body is wanted and there is no stream for it.")
            }
            return try await Self.content(of: pipe, upTo: limit)
        }
    }

    private static func content(of source: UploadSource, upTo limit: Int) throws(LoadError) -> [UInt8] {
        guard source.length <= Int64(limit) else { return try checked([], -1) }
        var content: [UInt8] = []
        while true {
            let piece = read { source.read(into: $0) {} }
            if let failure = source.failure { throw failure }
            guard !piece.isEmpty else { return content }
            content += piece
        }
    }

    private static func content(of pipe: BodyPipe, upTo limit: Int) async throws(LoadError) -> [UInt8] {
        defer { pipe.close() }
        var content: [UInt8] = []
        while true {
            var reading = BodyPipe.Reading.end
            await withCheckedContinuation { continuation in
                let piece = read { buffer in
                    reading = pipe.read(into: buffer) { continuation.resume() }
                    if case .bytes(let count) = reading { return count }
                    return 0
                }
                content += piece
                if reading != .later { continuation.resume() }
            }
            switch reading {
            case .bytes: _ = try checked(content, limit)
            case .later: continue
            case .end: return content
            case .failed: throw LoadError(.requestBodyStreamExhausted, "The stream of the body failed.")
            }
        }
    }

    private static func read(_ fill: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, initialized in
            initialized = max(0, min(buffer.count, fill(UnsafeMutableRawBufferPointer(buffer))))
        }
    }

    private static func checked(_ content: [UInt8], _ limit: Int) throws(LoadError) -> [UInt8] {
        guard content.count <= limit else {
            throw LoadError(.dataLengthExceedsMaximum, "The body of the request is larger than the protocol takes.")
        }
        return content
    }
}
