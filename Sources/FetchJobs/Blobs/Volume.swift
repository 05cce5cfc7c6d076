/// A place of bytes: the data directory of a node, or the object store that all nodes share.
///
/// The ids of the bytes in it have its number in them, so that every node knows where they are.
package struct Volume: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt32

    package init(number: UInt32) { self.number = number }

    /// The object store that all nodes share.
    package static let shared = Volume(number: 0)

    /// One that nobody has yet.
    package static func new() -> Volume { Volume(number: .random(in: 1 ... .max)) }

    /// Eight hexadecimal digits.
    package var description: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// Reads what ``description`` wrote; nil when it is something else.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 8, let number = UInt32(text, radix: 16) else { return nil }
        self.init(number: number)
    }
}

/// The kind of something whose bytes are in a volume.
package protocol StoredKind: IdentifierKind {}

extension Identifier where Kind: StoredKind {
    /// A new id of bytes in a volume.
    package init(in volume: Volume) { self.init(UUIDv7(mark: volume.number)) }

    /// Where the bytes are.
    package var volume: Volume { Volume(number: uuid.mark) }
}
