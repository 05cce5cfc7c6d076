import Glibc

/// A folder whose files may be loaded.
struct FileRoot {
    /// The components of its path.
    let components: [[UInt8]]
    private let path: String

    /// Linux's `O_PATH`, which Glibc's module lacks: a folder is opened to go through it, not to read it.
    private static let passage: Int32 = 0o10_000_000

    /// Takes an absolute path; nil when it is relative or leads upwards.
    init?(_ path: String) {
        let components = path.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
        guard path.hasPrefix("/"), !components.contains(where: FilePath.isDots) else { return nil }
        self.components = components
        self.path = path
    }

    /// Takes an absolute path as the root of the paths in URLs.
    init?(mounting path: String) {
        guard path.hasPrefix("/") else { return nil }
        components = []
        self.path = path
    }

    /// Opens a regular file below the root.
    ///
    /// Each component is opened from its folder and none may be a link, so the file is below the root even if other
    /// programs rename folders meanwhile.
    ///
    /// - Throws: `fileDoesNotExist`, `fileIsDirectory`, `noPermissionsToReadFile` or `cannotOpenFile`.
    func open(_ file: FilePath) throws(LoadError) -> OpenFile {
        guard let name = file.components.last, file.components.count > components.count else {
            throw LoadError(.fileIsDirectory, "The URL names a folder.")
        }
        var folder = Glibc.open(path, Self.passage | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.failure() }
        defer { close(folder) }
        for component in file.components[components.count...].dropLast() {
            let next = Self.open(component, in: folder, Self.passage | O_DIRECTORY)
            guard next >= 0 else { throw Self.failure() }
            close(folder)
            folder = next
        }
        // Without O_NONBLOCK the opening of a named pipe would wait for its other end.
        let descriptor = Self.open(name, in: folder, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.failure() }
        return try OpenFile(descriptor, isFolderExpected: file.isFolder)
    }

    /// Whether the file lies below this root, as far as the names tell.
    func contains(_ file: FilePath) -> Bool { file.components.starts(with: components) }

    private static func open(_ component: [UInt8], in folder: Int32, _ flags: Int32) -> Int32 {
        (component + [0]).withUnsafeBytes { name in
            guard let base = name.assumingMemoryBound(to: CChar.self).baseAddress else { return -1 }
            return openat(folder, base, flags | O_NOFOLLOW | O_CLOEXEC)
        }
    }

    private static func failure() -> LoadError { LoadError(reading: errno, "The file could not be opened.") }
}

/// The path of a `file:` URL (RFC 8089), decoded.
struct FilePath: Equatable {
    /// The names from the root of the file system on; none is empty, `.` or `..`.
    let components: [[UInt8]]
    /// Whether it ends with a slash.
    let isFolder: Bool

    /// Reads a URL.
    ///
    /// - Throws: `badURL` when it names a host, or when an escape hides a slash, a dot segment or a NUL.
    init(_ url: URLRecord) throws(LoadError) {
        guard url.scheme == "file", url.host ?? "" == "" else {
            throw LoadError(.badURL, "A file URL names no host but localhost.")
        }
        var components: [[UInt8]] = []
        for segment in url.path.utf8.split(separator: UInt8(ascii: "/")) {
            let name = percentDecoded(Array(segment)[...])
            guard !name.contains(UInt8(ascii: "/")), !name.contains(0), !Self.isDots(name) else {
                throw LoadError(.badURL, "The path of the file URL has a segment that is no file name.")
            }
            components.append(name)
        }
        self.components = components
        isFolder = url.path.hasSuffix("/")
    }

    static func isDots(_ name: [UInt8]) -> Bool { name == [0x2E] || name == [0x2E, 0x2E] }

    /// The media type for the extension of the name.
    var mediaType: String {
        components.last.flatMap { FileExtension.mediaType(ofPath: String(decoding: $0, as: UTF8.self)) }
            ?? "application/octet-stream"
    }
}

/// A regular file, open for reading.
final class OpenFile: Sendable {
    /// Its length when it was opened.
    let length: Int64
    private let descriptor: Int32

    /// Takes over a descriptor.
    init(_ descriptor: Int32, isFolderExpected: Bool = false) throws(LoadError) {
        var status = stat()
        let result = fstat(descriptor, &status)
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        guard result == 0, status.st_mode & S_IFMT == S_IFREG, !isFolderExpected else {
            close(descriptor)
            if isFolder { throw LoadError(.fileIsDirectory, "The URL names a folder.") }
            throw isFolderExpected
                ? LoadError(.fileDoesNotExist, "The URL names a folder, and there is a file.")
                : LoadError(.noPermissionsToReadFile, "The URL names something that is no regular file.")
        }
        self.descriptor = descriptor
        length = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads up to `count` bytes from a place; less than asked for, and not nothing, unless the file ends there.
    func read(at offset: Int64, count: Int) throws(LoadError) -> [UInt8] {
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            let result = pread(descriptor, base, count, off_t(offset))
            if result < 0 { number = errno }
            initialized = max(0, result)
        }
        guard number == 0 else { throw LoadError(reading: number, "The file could not be read.") }
        return bytes
    }
}
