import Glibc

/// The length of a file, for progress before it is opened.
enum FileSize {
    /// Nil when there is no such regular file.
    static func of(_ path: String) -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }
}
