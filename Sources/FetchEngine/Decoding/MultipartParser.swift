package import HTTPTypes

/// Splits a `multipart/x-mixed-replace` body into its parts while it comes (RFC 2046 §5.1.1).
///
/// Takes chunks of any size, and gives their content piece by piece: a reader may let others go on in between. Bytes
/// are given out as soon as they cannot be part of a boundary; only bytes that may begin one are held back. A missing
/// final boundary is no error: such streams end when the connection does.
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
    /// So many parts may be of any size; more of them have to be of ``minimumAverage`` bytes, boundaries included.
    ///
    /// The stream of a camera has no end. Parts without content, of which a few kilobytes of gzip hold millions, have no
    /// use.
    static let freeParts = 10_000
    static let minimumAverage = 128
    /// No preamble has so many lines.
    static let maximumPreambleLines = 10_000
    /// After so many bytes, each event counting as ``eventCost``, others are to have their turn.
    private static let turn = 32 * 1024
    private static let eventCost = 256

    private enum State { case preamble, afterBoundary, head, body, epilogue }
    private enum Step { case event(Event), went, needsMore }

    /// A boundary line may begin with one of these; the second for servers whose parameter has the dashes already.
    private let markers: [[UInt8]]
    /// The one that the first boundary line used.
    private var marker: [UInt8] = []
    private var state = State.preamble
    private var input = MultipartInput()
    private let names: FieldNames
    /// The head of the part so far.
    private var collector: HeadCollector
    private var headBytes = 0
    /// The part's head is over, and only a line end has followed it: a boundary may come already.
    private var isAtStart = false
    private var parts = 0
    private var preambleLines = 0
    private var events = 0
    private var lastTurn = 0

    package init(_ boundary: MultipartBoundary) {
        let text = Array(boundary.text.utf8)
        let dashes = Array("--".utf8)
        names = FieldNames()
        collector = HeadCollector(names)
        markers = [dashes + text] + (text.starts(with: dashes) ? [text] : [])
    }

    /// Takes the next bytes of the body; ``next()`` gives their content.
    package mutating func append(_ bytes: some Collection<UInt8>) { input.append(bytes) }

    /// The next event; nil when more bytes are needed.
    ///
    /// - Throws: `badServerResponse` for a part's head that is too large, `dataLengthExceedsMaximum` for too many parts
    ///   with hardly anything in them.
    package mutating func next() throws(LoadError) -> Event? {
        while true {
            switch try step() {
            case .event(let event):
                events += 1
                return event
            case .went: continue
            case .needsMore: return nil
            }
        }
    }

    /// Whether so much was read since this was last true that others should have their turn: a chunk may hold thousands
    /// of parts.
    package mutating func endsTurn() -> Bool {
        let cost = input.taken + events * Self.eventCost
        guard cost - lastTurn > Self.turn else { return false }
        lastTurn = cost
        return true
    }

    /// Takes the end of the body, and returns the remaining events.
    package mutating func finish() -> [Event] {
        defer { state = .epilogue }
        guard state == .body else { return [] }
        let rest = input.take(input.count)
        return (rest.isEmpty ? [] : [.data(rest)]) + [.end]
    }

    // MARK: Steps

    private mutating func step() throws(LoadError) -> Step {
        switch state {
        case .preamble: return try findFirstBoundary()
        case .afterBoundary: return try finishBoundaryLine()
        case .head: return try readHeadLine()
        case .body: return readBody()
        case .epilogue:
            input.drop(input.count)
            return .needsMore
        }
    }

    /// Skips lines until one is a boundary.
    private mutating func findFirstBoundary() throws(LoadError) -> Step {
        if let found = markers.first(where: input.rest.starts(with:)) {
            marker = found
            return enterBoundary(at: found.count)
        }
        if markers.contains(where: { $0.starts(with: input.rest) }) { return .needsMore }
        guard let line = input.line() else {
            // A line this long is no boundary; only that it has not ended counts.
            if input.count > 2 * Self.maximumHeadBytes { input = MultipartInput([UInt8(ascii: "x")]) }
            return .needsMore
        }
        input.drop(line.count)
        preambleLines += 1
        guard preambleLines <= Self.maximumPreambleLines else {
            throw LoadError(.badServerResponse, "The answer is to have parts, and none begins.")
        }
        return .went
    }

    private mutating func enterBoundary(at end: Int) -> Step {
        input.drop(end)
        state = .afterBoundary
        return .went
    }

    /// Dashes after the boundary end the body; white space may follow it on its line.
    private mutating func finishBoundaryLine() throws(LoadError) -> Step {
        if input.rest.starts(with: "--".utf8) {
            state = .epilogue
            return .went
        }
        guard let line = input.line() else {
            guard input.count <= Self.maximumHeadBytes else { throw Self.headTooLarge }
            return .needsMore
        }
        input.drop(line.count)
        try countPart()
        state = .head
        collector = HeadCollector(names)
        headBytes = 0
        return .went
    }

    private mutating func countPart() throws(LoadError) {
        parts += 1
        guard parts > Self.freeParts, input.taken / Self.minimumAverage < parts else { return }
        throw LoadError(
            .dataLengthExceedsMaximum,
            "The answer has more than \(Self.freeParts) parts of fewer than \(Self.minimumAverage) bytes each.")
    }

    private mutating func readHeadLine() throws(LoadError) -> Step {
        let line = input.line()
        headBytes += line?.count ?? 0
        guard headBytes + (line == nil ? input.count : 0) <= Self.maximumHeadBytes else { throw Self.headTooLarge }
        guard let line else { return .needsMore }
        let isEnded = line.withUnsafeBytes { collector.append($0) }
        input.drop(line.count)
        guard isEnded else { return .went }
        let ended = collector
        collector = HeadCollector(names)
        state = .body
        isAtStart = true
        return .event(.head(try ended.trailers()))
    }

    /// A boundary follows a line end; the one that ended the head counts, when the part is empty.
    private mutating func readBody() -> Step {
        if isAtStart {
            if input.rest.starts(with: marker) { return endPart(dropping: marker.count) }
            if marker.starts(with: input.rest) { return .needsMore }
            isAtStart = false
        }
        switch BoundarySearch(marker).find(in: input.rest) {
        case .boundary(let start, let end):
            guard start > 0 else { return endPart(dropping: end) }
            return .event(.data(input.take(start)))
        case .possible(let start):
            return start > 0 ? .event(.data(input.take(start))) : .needsMore
        }
    }

    private mutating func endPart(dropping count: Int) -> Step {
        isAtStart = false
        _ = enterBoundary(at: count)
        return .event(.end)
    }

    private static var headTooLarge: LoadError {
        LoadError(.badServerResponse, "A part of the answer has a header section that is too large.")
    }
}
