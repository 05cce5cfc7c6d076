import EventLoop
import Glibc

/// The file of a ``FileCookieStorage``.
///
/// Writing waits for the disk, so it happens on a thread of its own.
actor CookieFile {
    private static let loop = EventLoop(name: "cookies")
    static let magic = Array("FCKS".utf8) + [1]

    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }

    private nonisolated let path: String
    /// The number of the newest change in the file, and the cookies in it.
    private var saved: UInt64 = 0
    private var content: [UInt8]?

    init(path: String) { self.path = path }

    /// The cookies in it; none when there is no such file.
    nonisolated func read() throws(LoadError) -> [Cookie] {
        var bytes: [UInt8] = []
        guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
        try DownloadFile.read(path, upTo: .max) { bytes += $0 }
        guard let cookies = Self.cookies(in: bytes) else {
            throw LoadError(.cannotDecodeRawData, "The file of cookies is damaged or of another version.")
        }
        return cookies
    }

    /// Replaces the file unless it has that change already, with all that there is by now.
    func save(_ change: UInt64, _ newest: @Sendable () -> (UInt64, [Cookie])) throws(LoadError) {
        guard saved < change else { return }
        let (number, cookies) = newest()
        let bytes = Self.bytes(of: cookies)
        if content != bytes { try replace(with: bytes) }
        (saved, content) = (number, bytes)
    }

    private func replace(with bytes: [UInt8]) throws(LoadError) {
        let destination = DownloadDestination(path: path, allowOverwrite: true)
        let file = try DownloadFile(in: destination.directory)
        do throws(LoadError) {
            try file.write(bytes)
            try ReservedDestination(destination).fill(with: file)
        } catch {
            try file.remove()
            throw error
        }
    }

    // MARK: The format

    static func bytes(of cookies: [Cookie]) -> [UInt8] {
        var writer = ByteWriter()
        for cookie in cookies {
            writer.append(cookie.nameBytes)
            writer.append(cookie.valueBytes)
            writer.append((cookie.isHostOnly ? "" : ".") + cookie.domain)
            writer.append(cookie.path)
            writer.append(cookie.expires?.microseconds ?? 0)
            writer.append(UInt8((cookie.isSecure ? 1 : 0) | (cookie.isHTTPOnly ? 2 : 0)))
            writer.append(cookie.sameSite?.rawValue ?? "")
            writer.append(cookie.partition ?? "")
            writer.append(cookie.creationTime.microseconds)
        }
        let content = magic + writer.bytes
        return content + ContentDigest.sha256.digest(of: content)
    }

    /// Nil for bytes that ``bytes(of:)`` did not make.
    ///
    /// A cookie that is invalid by today's rules, for example because its domain became a public suffix, is left out.
    static func cookies(in bytes: [UInt8]) -> [Cookie]? {
        let content = bytes.dropLast(ContentDigest.sha256.byteCount)
        guard content.starts(with: magic),
            ContentDigest.sha256.digest(of: content).elementsEqual(bytes[content.endIndex...])
        else { return nil }
        var reader = ByteReader(content.dropFirst(magic.count))
        var cookies: [Cookie] = []
        while !reader.isAtEnd {
            do throws(ByteReader.Ended) {
                if let cookie = try cookie(from: &reader) { cookies.append(cookie) }
            } catch {
                return nil
            }
        }
        return cookies
    }

    private static func cookie(from reader: inout ByteReader) throws(ByteReader.Ended) -> Cookie? {
        let (name, value) = (Array(try reader.content()), Array(try reader.content()))
        let (domain, path) = (try reader.text(), try reader.text())
        let expires = UnixTime(microseconds: try reader.number())
        let flags = try reader.number(UInt8.self)
        let sameSite = Cookie.SameSite(rawValue: try reader.text())
        let partition = try reader.text()
        let creation = UnixTime(microseconds: try reader.number())
        return try? Cookie(
            nameBytes: name, valueBytes: value, domain: domain, path: path, expires: expires,
            isSecure: flags & 1 != 0, isHTTPOnly: flags & 2 != 0, sameSite: sameSite,
            partition: partition.isEmpty ? nil : partition, creationTime: creation)
    }
}
