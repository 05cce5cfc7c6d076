package import SystemPackage

/// What files, and standard input as `-`, have.
package enum FileContents {
    /// The bytes of a file, to its end or to a limit.
    ///
    /// - Throws: What the system says, which is a text for people too.
    package static func bytes(of path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
        do {
            if path == "-" { return try bytes(of: .standardInput, limit: limit) }
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            return try file.closeAfter { try bytes(of: file, limit: limit) }
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    private static func bytes(of file: FileDescriptor, limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < limit {
            let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
            if count == 0 { break }
            bytes.append(contentsOf: chunk.prefix(min(count, limit - bytes.count)))
        }
        return bytes
    }
}
