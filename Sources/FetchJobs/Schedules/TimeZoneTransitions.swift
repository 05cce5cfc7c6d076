/// When the clock of a time zone was changed, and by which rule it is in the future, as a TZif file has it (RFC 9636).
struct TimeZoneTransitions: Sendable {
    /// Seconds ahead of UTC before the first change.
    private let first: Int32
    /// In seconds since 1970, in order.
    private let times: [Int64]
    /// Seconds ahead of UTC from each of these times on.
    private let offsets: [Int32]
    /// The rule after the last of them.
    private let rule: TimeZoneRule?

    init(offset: Int32) {
        first = offset
        times = []
        offsets = []
        rule = nil
    }

    /// - Returns: nil when the bytes are no such file.
    init?(tzif bytes: [UInt8]) {
        var reader = TZifReader(bytes: bytes)
        guard var block = reader.header() else { return nil }
        var timeSize = 4
        var footer: ArraySlice<UInt8> = []
        if block.version >= UInt8(ascii: "2") {
            // The same follows once more, with times of eight bytes.
            guard reader.skip(block.size(timeSize: 4)), let second = reader.header() else { return nil }
            block = second
            timeSize = 8
        }
        guard block.typeCount > 0, let times = reader.integers(block.timeCount, size: timeSize),
            let indexes = reader.bytes(block.timeCount), let types = reader.bytes(block.typeCount * 6),
            reader.skip(block.sizeAfterTypes(timeSize: timeSize)), indexes.allSatisfy({ $0 < block.typeCount }),
            zip(times, times.dropFirst()).allSatisfy(<)
        else { return nil }
        if timeSize == 8 {
            guard let line = reader.footer() else { return nil }
            footer = line
        }
        let offsetsOfTypes = (0..<block.typeCount).map { TZifReader.integer(types.dropFirst($0 * 6).prefix(4)) }
        first = Int32(truncatingIfNeeded: offsetsOfTypes[0])
        self.times = times
        offsets = indexes.map { Int32(truncatingIfNeeded: offsetsOfTypes[Int($0)]) }
        guard !footer.isEmpty else {
            rule = nil
            return
        }
        guard let rule = TimeZoneRule(footer) else { return nil }
        self.rule = rule
    }

    /// Seconds that the clock is ahead of UTC at a time in seconds since 1970.
    func offset(at time: Int64) -> Int32 {
        if let rule, times.last.map({ $0 <= time }) ?? true { return rule.offset(at: time) }
        // The first change that is later.
        var (low, high) = (0, times.count)
        while low < high {
            let middle = low + (high - low) / 2
            if times[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : offsets[low - 1]
    }
}

/// Reads the parts of a TZif file one after the other.
private struct TZifReader {
    /// The counts in a header (RFC 9636 §3.1).
    struct Header {
        let version: UInt8
        let isUTCCount: Int
        let isStandardCount: Int
        let leapCount: Int
        let timeCount: Int
        let typeCount: Int
        let characterCount: Int

        /// The bytes of a block of data behind its types.
        func sizeAfterTypes(timeSize: Int) -> Int {
            characterCount + leapCount * (timeSize + 4) + isStandardCount + isUTCCount
        }

        func size(timeSize: Int) -> Int {
            timeCount * (timeSize + 1) + typeCount * 6 + sizeAfterTypes(timeSize: timeSize)
        }
    }

    private var rest: ArraySlice<UInt8>

    init(bytes: [UInt8]) { rest = bytes[...] }

    mutating func header() -> Header? {
        guard let fixed = bytes(20), fixed.starts(with: "TZif".utf8), let counts = integers(6, size: 4),
            // None is negative, or more than a file could have.
            counts.allSatisfy({ (0..<(1 << 20)).contains($0) })
        else { return nil }
        return Header(
            version: fixed[fixed.startIndex + 4], isUTCCount: Int(counts[0]), isStandardCount: Int(counts[1]),
            leapCount: Int(counts[2]), timeCount: Int(counts[3]), typeCount: Int(counts[4]),
            characterCount: Int(counts[5]))
    }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func skip(_ count: Int) -> Bool { bytes(count) != nil }

    mutating func integers(_ count: Int, size: Int) -> [Int64]? {
        guard let bytes = bytes(count * size) else { return nil }
        return (0..<count).map { Self.integer(bytes.dropFirst($0 * size).prefix(size)) }
    }

    /// The line at the end (RFC 9636 §3.3).
    mutating func footer() -> ArraySlice<UInt8>? {
        guard rest.first == UInt8(ascii: "\n") else { return nil }
        let line = rest.dropFirst()
        return line.firstIndex(of: UInt8(ascii: "\n")).map { line[..<$0] }
    }

    /// A signed number, the most significant byte first.
    static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        let isNegative = bytes.first.map { $0 >= 0x80 } ?? false
        return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
