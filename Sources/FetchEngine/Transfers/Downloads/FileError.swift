import Glibc

/// The one place where `errno` of file operations becomes a code of ours.
extension LoadError {
    /// The error for a file operation that failed.
    ///
    /// The path stays out of it, because the client of the load sees the message.
    init(_ code: Code, errno number: Int32) {
        self.init(
            code, Self.fileMessage(for: code, number),
            underlying: Underlying(domain: "errno", number: Int(number), text: String(cString: strerror(number))))
    }

    /// Whether there was no descriptor for the file.
    var lacksDescriptor: Bool {
        underlying.map { $0.domain == "errno" && [Int(EMFILE), Int(ENFILE)].contains($0.number) } ?? false
    }

    private static func fileMessage(for code: Code, _ number: Int32) -> String {
        let what =
            switch code {
            case .cannotCreateFile: "The file could not be created"
            case .cannotOpenFile: "The file could not be opened"
            case .cannotCloseFile: "The file could not be closed"
            case .cannotRemoveFile: "The file could not be removed"
            case .cannotMoveFile: "The file could not be moved"
            case .fileIsDirectory: "The destination is a directory"
            default: "The file could not be written"
            }
        let why =
            switch number {
            case ENOSPC, EDQUOT: ": no space is left."
            case EFBIG: ": it is larger than a file may be."
            case EACCES, EPERM, EROFS: ": permission is missing."
            case ENAMETOOLONG: ": its name is too long."
            case ENOENT, ENOTDIR: ": its directory does not exist."
            default: "."
            }
        return what + why
    }
}
