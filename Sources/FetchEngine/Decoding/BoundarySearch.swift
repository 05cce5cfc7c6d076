/// Looks for a line end followed by a boundary.
struct BoundarySearch {
    enum Result {
        /// The line end is at `start`, the boundary ends before `end`; both are counted from the beginning.
        case boundary(start: Int, end: Int)
        /// From here on there may be one; the length of the bytes when there cannot.
        case possible(Int)
    }

    private let marker: [UInt8]

    init(_ marker: [UInt8]) { self.marker = marker }

    func find(in bytes: ArraySlice<UInt8>) -> Result {
        let first = bytes.startIndex
        var index = first
        while let found = bytes[index...].firstIndex(where: { $0 == 0x0D || $0 == 0x0A }) {
            index = found
            let isPair = bytes[index] == 0x0D && index + 1 < bytes.endIndex && bytes[index + 1] == 0x0A
            let lineStart = isPair ? 2 : 1
            if bytes[index] == 0x0D, lineStart == 1 {
                if index + 1 == bytes.endIndex { return .possible(index - first) }
                index += 1
                continue
            }
            let rest = bytes[(index + lineStart)...]
            if rest.starts(with: marker) {
                return .boundary(start: index - first, end: index - first + lineStart + marker.count)
            }
            if marker.starts(with: rest) { return .possible(index - first) }
            index += 1
        }
        return .possible(bytes.count)
    }
}
