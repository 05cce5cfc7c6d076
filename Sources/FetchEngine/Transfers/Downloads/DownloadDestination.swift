/// Where the file of a download goes once it is complete.
///
/// ```swift
/// let options = DownloadOptions(destination: DownloadDestination(path: "/srv/archive.tar", allowOverwrite: true))
/// let file = try await session.download(for: request, options: options)
/// ```
public struct DownloadDestination: Sendable, Hashable {
    /// The path of the file; its directory exists.
    ///
    /// A path that is a directory fails the load with `fileIsDirectory`.
    public var path: String

    /// Whether a file that is there already is replaced.
    ///
    /// It is replaced at the end, in one step. Otherwise a number is put before the extension, `index-1.html`, and
    /// the first free name is taken; no two downloads ever get the same one.
    public var allowOverwrite: Bool

    /// Makes a destination.
    public init(path: String, allowOverwrite: Bool = false) {
        self.path = path
        self.allowOverwrite = allowOverwrite
    }
}

extension DownloadDestination {
    /// The directory, with its slash at the end; empty for the current one.
    var directory: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }

    /// The path with a number before its extension; the path itself for zero.
    func candidate(_ number: Int) -> String {
        guard number > 0 else { return path }
        return directory + Filename.numbered(String(path.dropFirst(directory.count)), number)
    }
}
