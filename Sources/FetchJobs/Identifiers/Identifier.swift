import Glibc
import Synchronization

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
        var bytes = Array(text.utf8)[...]
        for byte in Kind.prefix.utf8 { guard bytes.popFirst() == byte else { return nil } }
        guard bytes.popFirst() == UInt8(ascii: "_"), let uuid = UUIDv7(base32: bytes) else { return nil }
        self.uuid = uuid
    }

    package var description: String { "\(Kind.prefix)_\(uuid.base32)" }
}

extension Identifier: Comparable {
    package static func < (left: Identifier, right: Identifier) -> Bool { left.uuid < right.uuid }
}

/// The kind of object that an identifier names.
package protocol IdentifierKind: Sendable {
    /// The text before the underscore.
    static var prefix: String { get }
}

/// A UUID of version 7: 48 bits of Unix time in milliseconds, 12 bits of their fraction, then random bits.
///
/// Those of one process are in the order in which they are made, however fast (RFC 9562 §6.2, methods 3 and 1).
package struct UUIDv7: Hashable, Sendable, Comparable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The time in the last one that was made, in 4096ths of a millisecond.
    private static let last = Atomic<UInt64>(0)

    /// A new one, made now.
    package init() {
        let now = Self.ticks(at: .now)
        var last = Self.last.load(ordering: .relaxed)
        var ticks: UInt64
        repeat {
            ticks = max(now, last + 1)
            let (isOurs, current) = Self.last.weakCompareExchange(expected: last, desired: ticks, ordering: .relaxed)
            if isOurs { break }
            last = current
        } while true
        self.init(ticks: ticks)
    }

    package init(at time: Timestamp) { self.init(ticks: Self.ticks(at: time)) }

    /// When it was made, in whole milliseconds.
    package var time: Timestamp { Timestamp(microseconds: Int64(high >> 16) * 1000) }

    /// A new one with 32 bits of the caller's among its random ones.
    package init(mark: UInt32) {
        let new = UUIDv7()
        self.init(high: new.high, low: new.low & ~(0xFFFF_FFFF << Self.markShift) | UInt64(mark) << Self.markShift)
    }

    /// The bits that ``init(mark:)`` was given; random ones of others.
    package var mark: UInt32 { UInt32(truncatingIfNeeded: low >> Self.markShift) }

    /// Above the last bits, which differ from one to the next in any case.
    private static let markShift: UInt64 = 30

    private init(ticks: UInt64) {
        high = (ticks >> 12) << 16 | 0x7000 | ticks & 0x0FFF
        low = 0x8000_0000_0000_0000 | Self.random.withLock { $0.next() } >> 2
    }

    private static let random = Mutex(KernelRandom())

    private static func ticks(at time: Timestamp) -> UInt64 {
        let (milliseconds, microseconds) = UInt64(max(0, time.microseconds)).quotientAndRemainder(dividingBy: 1000)
        return milliseconds << 12 | microseconds * 4096 / 1000
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
    /// The value of each character; 32 for those that are not in the alphabet.
    private static let digits: [UInt8] = {
        var digits = [UInt8](repeating: 32, count: 256)
        for (digit, character) in alphabet.enumerated() { digits[Int(character)] = UInt8(digit) }
        return digits
    }()

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

    package init?(base32 text: some Collection<UInt8>) {
        guard text.count == 26, let first = text.first, Self.digits[Int(first)] < 8 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for character in text {
            let digit = UInt64(Self.digits[Int(character)])
            guard digit < 32 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | digit
        }
        self.init(high: high, low: low)
    }
}

/// Random numbers of the kernel, which gives many for one call: one for each id costs more than the rest of the id.
private struct KernelRandom {
    /// The most that the kernel gives at once, 256 bytes (getentropy(3)).
    private static let count = 32
    private var numbers: [UInt64] = []

    /// A number that is given once.
    mutating func next() -> UInt64 {
        if let number = numbers.popLast() { return number }
        numbers = Array(unsafeUninitializedCapacity: Self.count) { buffer, count in
            let status = getentropy(buffer.baseAddress!, Self.count * MemoryLayout<UInt64>.size)
            precondition(status == 0, "the kernel gives no random numbers")
            count = Self.count
        }
        return numbers.removeLast()
    }
}
