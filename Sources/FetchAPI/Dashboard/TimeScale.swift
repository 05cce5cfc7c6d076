/// Times of a job on a line of a drawing: work as it was, and long waits between it cut short so that work can be seen.
struct TimeScale {
    struct Tick: Equatable {
        /// From 0 to 1.
        let place: Double
        /// In seconds from the start of the line.
        let seconds: Double
        /// The wait that is cut short here, in seconds; nil where time goes on evenly.
        var cut: Double?
    }

    private struct Piece {
        let start: Double
        let end: Double
        let from: Double
        let to: Double
        let isCut: Bool
    }

    /// A wait is drawn no longer than this part of all work.
    private static let longestWait = 0.5
    /// Ticks are no nearer to each other, so that their texts can be read.
    private static let nearest = 0.12

    private let pieces: [Piece]

    /// - Parameters:
    ///   - work: When something was done, in seconds.
    ///   - end: Where the line ends; it begins at 0.
    init(work: [ClosedRange<Double>], end: Double) {
        var parts: [(start: Double, end: Double, isWork: Bool)] = []
        var last = 0.0
        for range in work.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > last { parts.append((last, range.lowerBound, false)) }
            if range.upperBound > last { parts.append((max(last, range.lowerBound), range.upperBound, true)) }
            last = max(last, range.upperBound)
        }
        if end > last { parts.append((last, end, false)) }
        let longest = parts.filter(\.isWork).map { $0.end - $0.start }.reduce(0, +) * Self.longestWait
        let drawn = parts.map { part in
            let length = part.end - part.start
            // What is not much longer is not worth a cut.
            return part.isWork || longest == 0 || length <= longest * 2 ? length : longest
        }
        let total = max(drawn.reduce(0, +), 0.000_001)
        var from = 0.0
        pieces = zip(parts, drawn).map { part, length in
            defer { from += length / total }
            return Piece(
                start: part.start, end: part.end, from: from, to: from + length / total,
                isCut: length < part.end - part.start)
        }
    }

    /// Where a time is drawn, from 0 to 1.
    func place(of seconds: Double) -> Double {
        guard let piece = pieces.first(where: { seconds <= $0.end }) else { return 1 }
        let part = (seconds - piece.start) / max(piece.end - piece.start, 0.000_001)
        return piece.from + max(0, part) * (piece.to - piece.from)
    }

    /// The marks of the line: even ones where time goes on evenly, and one at each wait that is cut short.
    var ticks: [Tick] {
        var ticks = [Tick(place: 0, seconds: 0)]
        for piece in pieces {
            if piece.isCut {
                let place = (piece.from + piece.to) / 2
                // The length of what is cut out tells more than the time before it.
                if let last = ticks.last, last.cut == nil, place - last.place < Self.nearest * 1.5 {
                    ticks.removeLast()
                }
                ticks.append(Tick(place: place, seconds: piece.start, cut: piece.end - piece.start))
                continue
            }
            let share = piece.to - piece.from
            guard share > Self.nearest else { continue }
            let step = Self.step((piece.end - piece.start) / (share * 8))
            var next = (piece.start / step).rounded(.up) * step
            while next < piece.end {
                let place = place(of: next)
                if let last = ticks.last, place - last.place >= Self.nearest, place <= 1 - Self.nearest {
                    ticks.append(Tick(place: place, seconds: next))
                }
                next += step
            }
        }
        return ticks
    }

    /// The next number that is 1, 2 or 5 in its first place.
    private static func step(_ least: Double) -> Double {
        var unit = 0.000_001
        while unit * 10 < least { unit *= 10 }
        return [1, 2, 5].map { $0 * unit }.first { $0 >= least } ?? unit * 10
    }
}
