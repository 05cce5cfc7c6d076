import Glibc

/// A name that belongs to one download from before its first byte.
///
/// Without overwriting it is held by an empty file, made exclusively, so that the final name can be told before the
/// data comes and no other download gets it. The complete file then replaces the empty one in one step.
struct ReservedDestination: Sendable, Equatable {
    /// The final path.
    let path: String
    private let isHeld: Bool

    /// The most names that are tried.
    static let maximumNumber = 9999

    /// Takes a name.
    init(_ destination: DownloadDestination) throws(LoadError) {
        var status = stat()
        guard stat(destination.path, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR, !destination.path.isEmpty,
            !destination.path.hasSuffix("/")
        else { throw LoadError(.fileIsDirectory, errno: EISDIR) }
        guard !destination.allowOverwrite else {
            path = destination.path
            isHeld = false
            return
        }
        path = try Self.reserve(destination)
        isHeld = true
    }

    private static func reserve(_ destination: DownloadDestination) throws(LoadError) -> String {
        for number in 0...maximumNumber {
            let path = destination.candidate(number)
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                close(descriptor)
                return path
            }
            guard errno == EEXIST else { throw LoadError(.cannotCreateFile, errno: errno) }
        }
        throw LoadError(.cannotCreateFile, errno: EEXIST)
    }

    /// Puts the complete file in place, durably.
    func fill(with file: DownloadFile) throws(LoadError) {
        try file.sync()
        try file.close()
        try fill(withFileAt: file.path)
    }

    /// Puts a complete file of another place there, durably: moved, or copied where it cannot be moved.
    func fill(withFileAt source: String) throws(LoadError) {
        if rename(source, path) == 0 { return try sync() }
        guard errno == EXDEV else { throw LoadError(.cannotMoveFile, errno: errno) }
        let copy = try DownloadFile(in: DownloadDestination(path: path).directory)
        do throws(LoadError) {
            try DownloadFile.read(source, upTo: .max) { (piece) throws(LoadError) in try copy.write(piece) }
            try fill(with: copy)
        } catch {
            try copy.remove()
            throw error
        }
        unlink(source)
    }

    /// Gives the name back.
    func release() throws(LoadError) {
        guard isHeld else { return }
        guard unlink(path) == 0 || errno == ENOENT else { throw LoadError(.cannotRemoveFile, errno: errno) }
    }

    /// A rename is durable once its directory is.
    private func sync() throws(LoadError) {
        let number = syncDirectory(of: path)
        guard number == 0 else { throw LoadError(.cannotMoveFile, errno: number) }
    }
}

/// Puts the directory of a file on the disk: a new file, or a new name, survives a loss of power once that is done.
///
/// - Returns: 0, or the `errno` of what failed.
package func syncDirectory(of path: String) -> Int32 {
    let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    // Some file systems cannot sync a directory and say so; the file itself is safe.
    return fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno
}
