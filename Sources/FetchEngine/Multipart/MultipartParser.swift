package import HTTPTypes

/// Splits a `multipart/x-mixed-replace` body into its parts while it comes (RFC 2046 §5.1.1).
///
/// Takes chunks of any size. Bytes are given out as soon as they cannot be part of a boundary; only what may begin
/// one is held back. A missing final boundary is no error: such streams end when the connection does.
package struct MultipartParser: Sendable {
    package enum Event: Equatable {
        /// A part begins.
        case head(HTTPFields)
        /// Bytes of the part.
        case data([UInt8])
        /// The part is over.
        case end
    }

    /// The header section of a part may not be larger.
    static let maximumHeadBytes = 32 * 1024

    private enum State { case preamble, afterBoundary, head, body, epilogue }

    /// A boundary line may begin with one of these; the second for servers whose parameter has the dashes already.
    private let markers: [[UInt8]]
    /// The one that the first boundary line used.
    private var marker: [UInt8] = []
    private var state = State.preamble
    private var buffer: [UInt8] = []
    private let names: FieldNames
    /// What the part's head has so far.
    private var collector: HeadCollector
    private var headBytes = 0

    package init(_ boundary: MultipartBoundary) {
        let text = Array(boundary.text.utf8)
        let dashes = Array("--".utf8)
        names = FieldNames()
        collector = HeadCollector(names)
        markers = [dashes + text] + (text.starts(with: dashes) ? [text] : [])
    }

    /// Takes the next bytes of the body.
    ///
    /// - Throws: `badServerResponse` for a part's head that is too large.
    package mutating func parse(_ bytes: some Sequence<UInt8>) throws(LoadError) -> [Event] {
        buffer.append(contentsOf: bytes)
        var events: [Event] = []
        while try step(&events) {}
        return events
    }

    /// Takes the end of the body.
    package mutating func finish() -> [Event] {
        defer { state = .epilogue }
        guard state == .body else { return [] }
        var events: [Event] = []
        give(buffer, to: &events)
        return events + [.end]
    }

    // MARK: Steps, each false when it needs more bytes

    private mutating func step(_ events: inout [Event]) throws(LoadError) -> Bool {
        switch state {
        case .preamble: return findFirstBoundary()
        case .afterBoundary: return finishBoundaryLine()
        case .head: return try readHeadLine(&events)
        case .body: return readBody(&events)
        case .epilogue:
            buffer = []
            return false
        }
    }

    /// Skips lines until one is a boundary.
    private mutating func findFirstBoundary() -> Bool {
        if let found = markers.first(where: buffer.starts(with:)) {
            marker = found
            return enterBoundary(at: found.count)
        }
        if markers.contains(where: { $0.starts(with: buffer) }) { return false }
        guard let end = buffer.firstIndex(of: 0x0A) else {
            // A line this long is no boundary; only that it has not ended counts.
            if buffer.count > 2 * Self.maximumHeadBytes { buffer = [UInt8(ascii: "x")] }
            return false
        }
        buffer.removeFirst(end + 1)
        return true
    }

    private mutating func enterBoundary(at end: Int) -> Bool {
        buffer.removeFirst(end)
        state = .afterBoundary
        return true
    }

    /// Dashes after the boundary end the body; white space may follow it on its line.
    private mutating func finishBoundaryLine() -> Bool {
        if buffer.starts(with: "--".utf8) {
            state = .epilogue
            return true
        }
        guard let end = buffer.firstIndex(of: 0x0A) else { return false }
        buffer.removeFirst(end + 1)
        state = .head
        collector = HeadCollector(names)
        headBytes = 0
        return true
    }

    private mutating func readHeadLine(_ events: inout [Event]) throws(LoadError) -> Bool {
        let end = buffer.firstIndex(of: 0x0A)
        headBytes += end.map { $0 + 1 } ?? 0
        guard headBytes + (end == nil ? buffer.count : 0) <= Self.maximumHeadBytes else {
            throw LoadError(.badServerResponse, "A part of the answer has a header section that is too large.")
        }
        guard let end else { return false }
        let isEnded = buffer[...end].withUnsafeBytes { collector.append($0) }
        buffer.removeFirst(end + 1)
        guard isEnded else { return true }
        let ended = collector
        collector = HeadCollector(names)
        events.append(.head(try ended.trailers()))
        state = .body
        // The empty line that ended the head may be the line end before the next boundary, when the part is empty.
        buffer.insert(contentsOf: [0x0D, 0x0A], at: 0)
        skipsLineEnd = true
        return true
    }

    /// The buffer begins with a line end that is not the part's.
    private var skipsLineEnd = false

    private mutating func readBody(_ events: inout [Event]) -> Bool {
        switch BoundarySearch(marker).find(in: buffer) {
        case .boundary(let start, let end):
            give(Array(buffer[..<start]), to: &events)
            events.append(.end)
            skipsLineEnd = false
            return enterBoundary(at: end)
        case .possible(let start):
            guard start > 0 else { return false }
            give(Array(buffer[..<start]), to: &events)
            buffer.removeFirst(start)
            return false
        }
    }

    private mutating func give(_ bytes: [UInt8], to events: inout [Event]) {
        let data = skipsLineEnd && bytes.count >= 2 ? Array(bytes.dropFirst(2)) : bytes
        if bytes.count >= 2 { skipsLineEnd = false }
        if !data.isEmpty { events.append(.data(data)) }
    }
}

/// Looks for a line end followed by a boundary.
private struct BoundarySearch {
    enum Result {
        /// The line end is at `start`, the boundary ends before `end`.
        case boundary(start: Int, end: Int)
        /// From here on there may be one; the length of the bytes when there cannot.
        case possible(Int)
    }

    private let marker: [UInt8]

    init(_ marker: [UInt8]) { self.marker = marker }

    func find(in bytes: [UInt8]) -> Result {
        var index = 0
        while let found = bytes[index...].firstIndex(where: { $0 == 0x0D || $0 == 0x0A }) {
            index = found
            let lineStart = bytes[index] == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
            if bytes[index] == 0x0D, lineStart == 1 {
                if index + 1 == bytes.count { return .possible(index) }
                index += 1
                continue
            }
            let rest = bytes[(index + lineStart)...]
            if rest.starts(with: marker) { return .boundary(start: index, end: index + lineStart + marker.count) }
            if marker.starts(with: rest) { return .possible(index) }
            index += 1
        }
        return .possible(bytes.count)
    }
}
