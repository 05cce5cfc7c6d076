// Which of these two modules the compiler takes for that of `stat` depends on what it compiles beside this file.
import CoreFoundation
import Glibc

/// What the system tells of a file.
struct FileStatus: Sendable {
    /// Not a directory, a device, a pipe or a socket.
    let isRegular: Bool
    /// Every user may read or write it.
    let isOpenToAll: Bool
    /// Nobody but its owner may read or write it, those who administer the machine aside.
    let isOwnersAlone: Bool
    /// Who owns it.
    let owner: UInt32
    let bytes: Int64

    /// Nil when the file cannot be looked at; `errno` says why.
    init?(descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Nil when the file cannot be looked at; `errno` says why.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isOpenToAll = status.st_mode & 0o007 != 0
        isOwnersAlone = status.st_mode & 0o077 == 0
        owner = status.st_uid
        bytes = Int64(status.st_size)
    }
}
