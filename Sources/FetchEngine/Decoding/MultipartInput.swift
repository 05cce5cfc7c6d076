/// Bytes that have come and were not read yet; bytes that were read are removed when more come, not one by one.
struct MultipartInput: Sendable {
    private var bytes: [UInt8]
    private var start = 0
    /// How far the rest was searched for a line end, so that a line that comes bit by bit is searched once.
    private var searched = 0
    /// How many bytes have been read so far.
    private(set) var taken = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - start }
    var rest: ArraySlice<UInt8> { bytes[start...] }

    mutating func append(_ more: some Collection<UInt8>) {
        bytes.removeFirst(start)
        start = 0
        bytes.append(contentsOf: more)
    }

    mutating func drop(_ count: Int) {
        start += count
        taken += count
        searched = 0
    }

    mutating func take(_ count: Int) -> [UInt8] {
        defer { drop(count) }
        return Array(rest.prefix(count))
    }

    /// The next line with its end; nil when that has not come.
    mutating func line() -> ArraySlice<UInt8>? {
        guard let end = bytes[(start + searched)...].firstIndex(of: 0x0A) else {
            searched = count
            return nil
        }
        return bytes[start...end]
    }
}
