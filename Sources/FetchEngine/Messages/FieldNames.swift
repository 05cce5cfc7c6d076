import Glibc
import HTTPTypes

/// Remembers the field names that servers send: they send the same few again and again, and to check and fold a name is
/// most of the work of reading a field.
// @unchecked: belongs to a reader on one thread.
final class FieldNames: @unchecked Sendable {
    private struct Entry {
        let bytes: [UInt8]
        let name: HTTPField.Name
    }

    private static let places = 64
    private static let longest = 48

    @exclusivity(unchecked) private var entries = [Entry?](repeating: nil, count: places)

    /// The name that these bytes are, or nil when they are none (RFC 9110 §5.1).
    func name(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPField.Name? {
        guard let first = bytes.first, let last = bytes.last, bytes.count <= Self.longest else { return read(bytes) }
        let place = (bytes.count &* 31 &+ Int(first) &* 7 &+ Int(last)) % Self.places
        if let entry = entries[place], Self.equal(entry.bytes, bytes) { return entry.name }
        guard let name = read(bytes) else { return nil }
        entries[place] = Entry(bytes: Array(bytes), name: name)
        return name
    }

    private func read(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPField.Name? {
        HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }

    private static func equal(_ known: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        known.count == bytes.count && memcmp(known, bytes.baseAddress!, bytes.count) == 0
    }
}
