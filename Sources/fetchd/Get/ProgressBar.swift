import Glibc

/// One line that says how far a load is.
struct ProgressBar {
    /// How, and on what, the bar is drawn.
    struct Style: Sendable, Equatable {
        var columns = 80
        var hasColor = true
    }

    private let style: Style
    private var samples: [Sample] = []

    private struct Sample {
        let time: Duration
        let received: Int64
    }

    /// How far back the rate looks.
    private static let window = Duration.seconds(5)

    init(style: Style) { self.style = style }

    /// The line for a moment of the load.
    ///
    /// - Parameters:
    ///   - received: The bytes that have come.
    ///   - expected: The number of bytes of the body, or `nil` when it is unknown.
    ///   - time: Since the load began.
    mutating func line(received: Int64, expected: Int64?, time: Duration) -> String {
        let rate = rate(received: received, time: time)
        let speed = ByteCount.text(Int64(rate)) + "/s"
        guard let expected, expected > 0 else {
            return fitted("\(ByteCount.text(received))  \(speed)  \(Self.clock(time))")
        }
        let share = min(1, Double(received) / Double(expected))
        let left = rate > 0 ? Self.clock(.seconds(Double(max(0, expected - received)) / rate)) + " left" : "--:-- left"
        let percent = String(Int(share * 100))
        let padding = String(repeating: " ", count: max(0, 3 - percent.count))
        let facts =
            "\(padding)\(percent) %  \(ByteCount.text(received)) of \(ByteCount.text(expected))  \(speed)  \(left)"
        let room = style.columns - facts.count - 5
        guard room >= 10 else { return fitted(facts) }
        return bar(share, width: min(room, 40)) + " " + facts
    }

    /// The line that stays when the load is over.
    func summary(received: Int64, time: Duration) -> String {
        let rate = time > .zero ? Double(received) / (time / .seconds(1)) : 0
        return "\(ByteCount.text(received)) in \(Self.seconds(time)) s (\(ByteCount.text(Int64(rate)))/s)"
    }

    private mutating func rate(received: Int64, time: Duration) -> Double {
        samples.append(Sample(time: time, received: received))
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
        guard let first = samples.first, time > first.time else {
            return time > .zero ? Double(received) / (time / .seconds(1)) : 0
        }
        return Double(received - first.received) / ((time - first.time) / .seconds(1))
    }

    private func bar(_ share: Double, width: Int) -> String {
        let filled = Int(share * Double(width))
        let done = String(repeating: "=", count: max(0, filled - 1)) + (filled > 0 ? (share < 1 ? ">" : "=") : "")
        let rest = String(repeating: " ", count: width - filled)
        return style.hasColor ? "[\u{1B}[32m\(done)\u{1B}[0m\(rest)]" : "[\(done)\(rest)]"
    }

    private func fitted(_ text: String) -> String { String(text.prefix(max(0, style.columns - 1))) }

    /// Minutes and seconds, with hours where there are any.
    static func clock(_ duration: Duration) -> String {
        let seconds = min(duration.components.seconds, 359_999)
        let padded = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
        return seconds < 3600 ? minutes : "\(seconds / 3600):\(minutes)"
    }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = Int(duration / .milliseconds(100))
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// Sizes for people.
enum ByteCount {
    /// At most four digits and a binary unit: `0 B`, `1023 B`, `1.5 KiB`, `12 MiB`.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        repeat {
            value /= 1024
            unit += 1
        } while value >= 1023.5 && unit < units.count
        guard value < 9.95 else { return "\(Int(value.rounded())) \(units[unit - 1])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit - 1])"
    }

    private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
}
