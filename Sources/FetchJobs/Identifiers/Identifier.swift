/// The id of one kind of thing: a prefix that says which, and a UUIDv7 (RFC 9562).
///
/// Written as the prefix, an underscore and 26 characters of lower-case base32 in the order-keeping alphabet without
/// `i`, `l`, `o` and `u`, so that texts sort by the time of creation just as the values do.
package struct Identifier<Kind: IdentifierKind>: Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUIDv7

    package init(_ uuid: UUIDv7) { self.uuid = uuid }

    /// A new id, made now.
    package init() { uuid = UUIDv7() }

    /// Comes before all ids that were made at this time or later.
    package init(earliestAt time: Timestamp) { uuid = UUIDv7(earliestAt: time) }

    /// The id that a text names, or nil when it is not of this kind or not in this form.
    package init?(_ text: some StringProtocol) {
        let prefix = "\(Kind.prefix)_"
        guard text.hasPrefix(prefix), let uuid = UUIDv7(base32: text.dropFirst(prefix.count).utf8) else { return nil }
        self.uuid = uuid
    }

    package var description: String { "\(Kind.prefix)_\(uuid.base32)" }
}

extension Identifier: Comparable {
    package static func < (left: Identifier, right: Identifier) -> Bool { left.uuid < right.uuid }
}

/// What an identifier identifies.
package protocol IdentifierKind: Sendable {
    /// The text before the underscore.
    static var prefix: String { get }
}

/// A UUID of version 7: 48 bits of Unix time in milliseconds, then random bits.
package struct UUIDv7: Hashable, Sendable, Comparable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(at time: Timestamp = .now) {
        var random = SystemRandomNumberGenerator()
        let milliseconds = UInt64(max(0, time.microseconds) / 1000)
        high = milliseconds << 16 | 0x7000 | random.next() & 0x0FFF
        low = 0x8000_0000_0000_0000 | random.next() >> 2
    }

    /// Before all that were made at this time or later.
    package init(earliestAt time: Timestamp) {
        self.init(high: UInt64(max(0, time.microseconds) / 1000) << 16, low: 0)
    }

    package static func < (left: UUIDv7, right: UUIDv7) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    // MARK: base32

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// 26 characters of five bits each, the first of which holds three.
    package var base32: String {
        String(unsafeUninitializedCapacity: 26) { characters in
            var (high, low) = (high, low)
            for index in (0..<26).reversed() {
                characters[index] = Self.alphabet[Int(low & 31)]
                low = low >> 5 | high << 59
                high >>= 5
            }
            return 26
        }
    }

    package init?(base32 text: some Sequence<UInt8>) {
        var (high, low): (UInt64, UInt64) = (0, 0)
        var count = 0
        for character in text {
            guard let digit = Self.alphabet.firstIndex(of: character) else { return nil }
            guard count < 26, count > 0 || digit < 8 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(digit)
            count += 1
        }
        guard count == 26 else { return nil }
        self.init(high: high, low: low)
    }
}
