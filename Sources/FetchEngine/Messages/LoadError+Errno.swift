import Glibc

extension LoadError {
    /// The error for a file that could not be read, from the system's error number.
    init(reading number: Int32, _ message: String) {
        let code: Code =
            switch number {
            case ENOENT, ENOTDIR, ENAMETOOLONG: .fileDoesNotExist
            case EISDIR: .fileIsDirectory
            // A link where none may be followed reads as ELOOP.
            case EACCES, EPERM, ELOOP: .noPermissionsToReadFile
            default: .cannotOpenFile
            }
        self.init(
            code, message,
            underlying: Underlying(domain: "errno", number: Int(number), text: String(cString: strerror(number))))
    }
}
