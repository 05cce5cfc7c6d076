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

/// The attributes of a file that change with its content.
struct FileVersion: Equatable {
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    init(_ status: stat) {
        size = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }

    /// Nil when it cannot be looked at.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}

extension Request {
    /// The length of the body as far as it is known before it is sent.
    var expectedBodyLength: Int64? {
        guard bodyCoding == nil else { return body == nil ? 0 : nil }
        return wholeBodyLength.map { $0 - bodyOffset }
    }

    private var wholeBodyLength: Int64? {
        switch body {
        case nil: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let path): FileSize.of(path)
        case .segments(let segments): FileSize.of(segments)
        case .stream(let length, _): length
        }
    }
}
