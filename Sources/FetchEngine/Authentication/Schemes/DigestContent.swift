import Glibc

/// The content of a request as `auth-int` wants it: hashed before the first byte of it is sent (RFC 7616 §3.4.3).
enum DigestContent {
    /// The hash in hexadecimal digits; nil for a stream, which can be read only once, and for a file that cannot be.
    static func hash(of body: RequestBody?, by algorithm: DigestAlgorithm) async -> [UInt8]? {
        switch body {
        case nil: algorithm.hash([])
        case .bytes(let bytes): algorithm.hash(bytes)
        case .file(let path): await hash(of: [.file(path: path)], by: algorithm)
        case .segments(let segments): await hash(of: segments, by: algorithm)
        case .stream: nil
        }
    }

    private static func hash(of segments: [RequestBody.Segment], by algorithm: DigestAlgorithm) async -> [UInt8]? {
        await onOwnThread {
            guard let stream = algorithm.stream() else { return nil }
            for segment in segments {
                switch segment {
                case .bytes(let bytes): stream.append(bytes)
                case .file(let path): guard append(fileAt: path, to: stream) else { return nil }
                }
            }
            return Hexadecimal.encode(stream.finish())
        }
    }

    private static func append(fileAt path: String, to stream: HashStream) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return count == 0 }
            stream.append(count == buffer.count ? buffer : Array(buffer[..<count]))
        }
    }
}
