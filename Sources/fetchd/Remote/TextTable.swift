import FetchJobs

/// A column of a table: its title, and where its values are in the JSON of a line.
struct Column: Sendable {
    let title: String
    /// Only in wide tables.
    let isWide: Bool
    let value: @Sendable (JSONValue) -> String

    /// - Parameter path: The names of members, with dots between them.
    init(_ title: String, _ path: String, isWide: Bool = false) {
        self.init(title, isWide: isWide) { $0.at(path).map(\.plain) ?? "" }
    }

    init(_ title: String, isWide: Bool = false, _ value: @escaping @Sendable (JSONValue) -> String) {
        self.title = title
        self.isWide = isWide
        self.value = value
    }
}

/// Lines of columns, as wide as their longest values.
struct TextTable {
    /// No value of a narrow table is longer.
    static let maximumWidth = 60

    private let columns: [Column]
    private let isWide: Bool

    init(_ columns: [Column], isWide: Bool) {
        self.columns = columns.filter { isWide || !$0.isWide }
        self.isWide = isWide
    }

    /// The lines for elements, the titles first; text from elsewhere cannot control the terminal.
    func lines(_ elements: [JSONValue]) -> [String] {
        let rows = [columns.map(\.title)] + elements.map { element in columns.map { cell($0.value(element)) } }
        let widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            return line
        }
    }

    private func cell(_ text: String) -> String {
        let plain = TerminalText.plain(text)
        guard !isWide, plain.count > Self.maximumWidth else { return plain.isEmpty ? "-" : plain }
        return plain.prefix(Self.maximumWidth - 1) + "…"
    }
}

extension JSONValue {
    /// A member of a member; nil when there is none.
    func at(_ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(self as JSONValue?) { value, name in value?.member(String(name)) }
    }

    /// The value as one line for people: a text without its quotation marks, anything else as JSON.
    var plain: String {
        switch self {
        case .null: ""
        case .string(let text): text
        default: json
        }
    }
}
