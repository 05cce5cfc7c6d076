// Strings are compared in a normal form, and a long run of combining marks is brought into it in quadratic time: a
// text of 64 KB would take a second for each comparison.

extension String {
    /// Whether the text has no more than 30 combining marks in a row, so that comparing and hashing it is linear.
    ///
    /// UAX #15, Stream-Safe Text Format: no text of any language has more.
    package var isStreamSafe: Bool {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return true }
        var marks = 0
        for scalar in unicodeScalars {
            marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
            if marks > 30 { return false }
        }
        return true
    }

    /// Whether the text equals a short known one, by bytes first: a longer one is never brought into a normal form.
    package func isSame(as known: String) -> Bool { utf8.count == known.utf8.count && self == known }
}
