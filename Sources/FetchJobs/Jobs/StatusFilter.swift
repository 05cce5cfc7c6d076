/// A set of statuses of responses: one, or those of a class (RFC 9110 §15).
package struct StatusFilter: Sendable, Equatable, CustomStringConvertible {
    /// From 100 to 599.
    package let range: ClosedRange<Int>

    /// Reads `404` or `4xx`.
    package init?(_ text: String) {
        if let code = Int(text), text.utf8.count == 3, (100...599).contains(code) {
            self.init(range: code...code)
        } else if let first = text.first?.wholeNumberValue, (1...5).contains(first), text.dropFirst() == "xx" {
            self.init(class: first)
        } else {
            return nil
        }
    }

    /// All whose first digit it is, from 1 to 5.
    package init(class number: Int) { self.init(range: number * 100...number * 100 + 99) }

    private init(range: ClosedRange<Int>) { self.range = range }

    package static let rule = "must be a status from 100 to 599, such as 404, or a class of them, such as 4xx"

    package var description: String {
        range.count == 1 ? "\(range.lowerBound)" : Self.name(ofClassOf: range.lowerBound)
    }

    /// The class of a status, as it is written: `4xx`.
    package static func name(ofClassOf status: Int) -> String { "\(status / 100)xx" }
}
