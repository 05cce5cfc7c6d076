import Glibc

/// An entry as a file: its body, then its head, then a footer with their lengths and sums.
///
/// The footer comes last, so that a body can be written as it comes. A file whose sums do not match is no entry; that
/// covers a writing process that died at any byte.
enum CacheFile {
    /// Where the parts of a file are and what they must add up to.
    struct Footer: Equatable {
        static let magic: UInt64 = 0x3130_4548_4341_4346
        static let size = 8 + 8 + 4 + 4 + 2 * ContentDigest.sha256.byteCount

        var bodyLength: Int64
        var headLength: UInt32
        var bodySum: [UInt8]
        var headSum: [UInt8]

        var bytes: [UInt8] {
            var writer = ByteWriter()
            writer.append(Self.magic)
            writer.append(bodyLength)
            writer.append(headLength)
            writer.append(UInt32(0))
            return writer.bytes + bodySum + headSum
        }

        init(bodyLength: Int64, bodySum: [UInt8], head: [UInt8]) {
            self.bodyLength = bodyLength
            self.bodySum = bodySum
            headLength = UInt32(head.count)
            headSum = Self.sum(head, bodyLength: bodyLength, bodySum: bodySum)
        }

        /// Reads the end of a file of that size; nil when it is no footer.
        init?(_ bytes: ArraySlice<UInt8>, fileSize: Int64) {
            var reader = ByteReader(bytes.prefix(24))
            guard bytes.count == Self.size, let magic = try? reader.number(UInt64.self), magic == Self.magic,
                let bodyLength = try? reader.number(Int64.self), let headLength = try? reader.number(UInt32.self),
                bodyLength >= 0, bodyLength <= fileSize,
                bodyLength + Int64(headLength) + Int64(Self.size) == fileSize
            else { return nil }
            self.bodyLength = bodyLength
            self.headLength = headLength
            bodySum = Array(bytes.dropFirst(24).prefix(ContentDigest.sha256.byteCount))
            headSum = Array(bytes.suffix(ContentDigest.sha256.byteCount))
        }

        /// The head's sum vouches for the body's sum and length too.
        static func sum(_ head: some Collection<UInt8>, bodyLength: Int64, bodySum: [UInt8]) -> [UInt8] {
            var writer = ByteWriter()
            writer.append(bodyLength)
            return ContentDigest.sha256.digest(of: writer.bytes + bodySum + head)
        }
    }

    /// The entry of an open file, if its head is whole; the body is not looked at.
    static func entry(in file: CacheDescriptor) -> (entry: CacheEntry, footer: Footer)? {
        let size = file.size
        guard size >= Int64(Footer.size),
            let end = file.read(at: size - Int64(Footer.size), count: Footer.size),
            let footer = Footer(end[...], fileSize: size), footer.headLength <= 16 * 1024 * 1024,
            let head = file.read(at: footer.bodyLength, count: Int(footer.headLength)),
            Footer.sum(head, bodyLength: footer.bodyLength, bodySum: footer.bodySum) == footer.headSum,
            let entry = CacheEntry(bytes: head[...]), entry.bodyLength == footer.bodyLength
        else { return nil }
        return (entry, footer)
    }

    /// Whether the body has the digest with which it was written.
    static func isWhole(_ file: CacheDescriptor, _ footer: Footer) -> Bool {
        let digest = ContentDigest.sha256.stream()
        var offset: Int64 = 0
        while offset < footer.bodyLength {
            let count = Int(min(footer.bodyLength - offset, Int64(CacheDescriptor.chunk)))
            guard let bytes = file.read(at: offset, count: count) else { return false }
            digest.append(bytes)
            offset += Int64(count)
        }
        return digest.finish() == footer.bodySum
    }
}

/// An open file, closed with the value that holds it.
final class CacheDescriptor: Sendable {
    static let chunk = 256 * 1024
    let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Opens a file to read; nil when it is not there.
    convenience init?(path: String) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        self.init(number)
    }

    deinit { close(number) }

    var size: Int64 {
        var status = stat()
        return fstat(number, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Exactly so many bytes, or nil.
    func read(at offset: Int64, count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = pread(number, buffer.baseAddress! + filled, count - filled, off_t(offset) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { break }
                filled += got
            }
        }
        return bytes.count == count ? bytes : nil
    }

    /// Appends all of the bytes; false when there is no room for example.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let written = Glibc.write(number, bytes.baseAddress! + offset, bytes.count - offset)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            offset += written
        }
        return true
    }

    func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }
}
