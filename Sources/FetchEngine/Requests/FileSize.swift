import Glibc

/// The length of a file, for progress before it is opened.
enum FileSize {
    /// Nil when there is no such regular file.
    static func of(_ path: String) -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// The length of all together; nil when one is no regular file.
    static func of(_ segments: [RequestBody.Segment]) -> Int64? {
        var total: Int64 = 0
        for segment in segments {
            switch segment {
            case .bytes(let bytes): total += Int64(bytes.count)
            case .file(let path):
                guard let size = of(path) else { return nil }
                total += size
            }
        }
        return total
    }
}
