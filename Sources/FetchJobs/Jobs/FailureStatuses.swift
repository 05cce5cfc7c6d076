/// The statuses of responses that a job takes for failures.
///
/// Entries add a status (`503`) or a class (`5xx`), and those that begin with `!` take one out. Where all entries take out,
/// everything else is a failure: `!2xx` is every status that says no success.
package struct FailureStatuses: Sendable, Equatable {
    package struct Entry: Sendable, Equatable, CustomStringConvertible {
        let filter: StatusFilter
        /// Whether it takes its statuses out.
        let isNegated: Bool

        /// Reads `503`, `5xx`, `!404` or `!2xx`.
        init?(_ text: String) {
            isNegated = text.hasPrefix("!")
            guard let filter = StatusFilter(isNegated ? String(text.dropFirst()) : text),
                Self.finalStatuses.contains(filter.range.lowerBound)
            else { return nil }
            self.filter = filter
        }

        /// An interim response is no answer that could fail.
        static let finalStatuses = 200...599

        package var description: String { "\(isNegated ? "!" : "")\(filter)" }
    }

    package let entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    package func contains(_ status: Int) -> Bool {
        var adds = false
        var isAdded = false
        for entry in entries {
            let matches = entry.filter.range.contains(status)
            if entry.isNegated {
                if matches { return false }
            } else {
                adds = true
                isAdded = isAdded || matches
            }
        }
        return adds ? isAdded : !entries.isEmpty
    }
}
