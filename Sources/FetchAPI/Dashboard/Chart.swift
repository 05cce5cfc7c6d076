import FetchJobs

/// Figures as a picture: one function from numbers to SVG for each kind.
///
/// Pictures take their colours from the style sheet, and say in words what they show to those who cannot see them.
enum Chart {
    /// One column of a chart of bars.
    struct Bar: Equatable {
        /// What it is of, such as a time.
        let label: String
        /// One for each part, from the bottom.
        let values: [Double]

        var total: Double { values.reduce(0, +) }
    }

    /// A part that all bars have: its class in the style sheet, and its name.
    struct Part: Equatable {
        let style: String
        let title: String
    }

    static let width = 600.0
    static let height = 100.0

    /// Bars side by side, each of parts on top of one another.
    ///
    /// - Parameters:
    ///   - title: What is drawn.
    ///   - parts: The parts of each bar, from the bottom.
    static func bars(_ title: String, _ parts: [Part], _ bars: [Bar]) -> String {
        let most = bars.map(\.total).max() ?? 0
        let step = width / Double(max(bars.count, 1))
        var svg = open("bars", height: height, label: summary(title, parts, bars))
        for (index, bar) in bars.enumerated() where bar.total > 0 {
            let words = zip(parts, bar.values).filter { $0.1 > 0 }.map { "\(number($0.1)) \($0.0.title)" }
            svg += "<g><title>\(escaped("\(bar.label): \(words.joined(separator: ", "))"))</title>"
            var top = height
            for (part, value) in zip(parts, bar.values) where value > 0 {
                // What is there can be seen, however little it is.
                let size = max(value / most * height, 1)
                top = max(0, top - size)
                svg += rect(part.style, x: Double(index) * step + step * 0.1, y: top, width: step * 0.8, height: size)
            }
            svg += "</g>"
        }
        return svg + "</svg>"
    }

    /// Cells in rows and columns, the darker the higher their number.
    ///
    /// - Parameters:
    ///   - rows: The names of the rows, the upper first.
    ///   - columns: The names of the columns.
    ///   - values: By row and column.
    static func heatmap(_ title: String, rows: [String], columns: [String], _ values: [[Double]]) -> String {
        let most = values.joined().max() ?? 0
        let cell = (width: width / Double(max(columns.count, 1)), height: rowHeight)
        var svg = open("heatmap", height: cell.height * Double(max(rows.count, 1)), label: title)
        for (y, row) in rows.enumerated() {
            for (x, column) in columns.enumerated() where values[y][x] > 0 {
                let level = min(5, Int((values[y][x] / most * 5).rounded(.up)))
                svg += "<g><title>\(escaped("\(column), \(row): \(number(values[y][x]))"))</title>"
                svg += rect(
                    "heat\(level)", x: Double(x) * cell.width + 1, y: Double(y) * cell.height + 1,
                    width: cell.width - 2, height: cell.height - 2)
                svg += "</g>"
            }
        }
        return svg + "</svg>"
    }

    static let rowHeight = 14.0

    // MARK: Parts

    private static func open(_ style: String, height: Double, label: String) -> String {
        "<svg class=\"chart \(style)\" viewBox=\"0 0 \(number(width)) \(number(height))\" preserveAspectRatio=\"none\" "
            + "role=\"img\" aria-label=\"\(escaped(label))\">"
    }

    private static func rect(_ style: String, x: Double, y: Double, width: Double, height: Double) -> String {
        "<rect class=\"\(style)\" x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(width))\" "
            + "height=\"\(number(height))\"/>"
    }

    private static func summary(_ title: String, _ parts: [Part], _ bars: [Bar]) -> String {
        let sums = parts.indices.map { index in bars.reduce(0) { $0 + $1.values[index] } }
        let words = zip(parts, sums).map { "\(number($1)) \($0.title)" }
        return "\(title): \(words.joined(separator: ", "))"
    }

    /// With one digit behind the point where one is needed.
    static func number(_ value: Double) -> String {
        let rounded = (value * 10).rounded() / 10
        return Int64(exactly: rounded).map { String($0) } ?? String(rounded)
    }

    private static func escaped(_ text: String) -> String { MarkupEscape.escaped(text) }
}

/// Numbers for people.
enum Figure {
    /// `12 345`, with a narrow space that does not break.
    static func text(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append("\u{202F}") }
            text.append(digit)
        }
        return number < 0 ? "-" + text : text
    }

    static func text(_ count: BoundedCount) -> String { text(count.value) + (count.isLowerBound ? "+" : "") }

    /// `1.5 MB`, in steps of a thousand.
    static func bytes(_ bytes: Int64) -> String { scaled(Double(bytes), ["B", "kB", "MB", "GB", "TB", "PB"]) }

    /// The same in a second.
    static func bytesPerSecond(_ bytes: Double) -> String { scaled(bytes, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]) }

    private static func scaled(_ value: Double, _ units: [String]) -> String {
        var (value, index) = (value, 0)
        while value >= 1000, index < units.count - 1 { (value, index) = (value / 1000, index + 1) }
        return "\(Chart.number(value)) \(units[index])"
    }

    /// With two digits where it is small: `0.0042`, `3.5`.
    static func rate(_ value: Double) -> String {
        guard value > 0, value < 1 else { return Chart.number(value) }
        var (scaled, digits) = (value, 0)
        while scaled < 10 { (scaled, digits) = (scaled * 10, digits + 1) }
        let text = String(Int(scaled.rounded()))
        return "0." + String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// `98.5 %`; nil of nothing.
    static func percent(_ part: Double, of whole: Double) -> String? {
        whole > 0 ? "\(Chart.number(part / whole * 100)) %" : nil
    }
}
