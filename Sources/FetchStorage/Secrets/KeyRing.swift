import Crypto
import FoundationEssentials

/// The keys that secrets in the database are sealed with; they are not in the database themselves (SEC-50, SEC-51).
///
/// The first key seals, and every key opens: a new key is put in front, and an old one stays while anything is sealed
/// with it.
package struct KeyRing: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Why a text is not a key ring; it never quotes the text.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Key: Sendable {
        let id: UInt8
        let bytes: SymmetricKey
    }

    private let keys: [Key]

    /// Reads keys in the form `1:BASE64,2:BASE64`, a number from 0 to 255 and 32 bytes each.
    package init(_ text: String) throws(Failure) {
        var keys: [Key] = []
        for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let fields = part.split(separator: ":", maxSplits: 1)
            guard fields.count == 2, let id = UInt8(fields[0]), let data = Data(base64Encoded: String(fields[1])),
                data.count == 32, !keys.contains(where: { $0.id == id })
            else {
                throw Failure(description: "A master key is written as NUMBER:BASE64 of 32 bytes, each number once.")
            }
            keys.append(Key(id: id, bytes: SymmetricKey(data: data)))
        }
        guard !keys.isEmpty else { throw Failure(description: "There is no master key.") }
        self.keys = keys
    }

    /// A text with one new key, for ``init(_:)``.
    package static func generate() -> String {
        "1:" + SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64EncodedString()
    }

    /// The number of the key that seals.
    var sealingKey: UInt8 { keys[0].id }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }

    // MARK: Sealing

    /// Seals a secret with AES-256-GCM for one place: moved anywhere else it does not open.
    package func seal(_ secret: [UInt8], for place: Place) throws -> [UInt8] {
        let sealed = try AES.GCM.seal(secret, using: sealing(keys[0]), authenticating: place.associatedData)
        return [keys[0].id] + (sealed.combined.map { Array($0) } ?? [])
    }

    /// The secret sealed for this place.
    ///
    /// - Throws: When the key is missing, or the bytes were sealed for another place or changed.
    package func open(_ sealed: [UInt8], for place: Place) throws -> [UInt8] {
        guard let id = sealed.first, let key = keys.first(where: { $0.id == id }) else {
            throw Failure(description: "The master key that a secret was sealed with is not in the key ring.")
        }
        let box = try AES.GCM.SealedBox(combined: sealed.dropFirst())
        return Array(try AES.GCM.open(box, using: sealing(key), authenticating: place.associatedData))
    }

    /// Where a secret is kept.
    package struct Place: Sendable {
        let associatedData: [UInt8]

        package init(table: String, column: String, tenant: Int64, row: String) {
            associatedData = Array("\(table).\(column)/\(tenant)/\(row)".utf8)
        }
    }

    // MARK: Keys made from the first

    /// A key for one purpose; the same for all nodes that have the same ring, and another when its first key is.
    func key(for purpose: String) -> SymmetricKey { derive(keys[0], purpose) }

    private func sealing(_ key: Key) -> SymmetricKey { derive(key, "sealing") }

    private func derive(_ key: Key, _ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key.bytes, info: Data("fetchd \(purpose)".utf8), outputByteCount: 32)
    }
}
