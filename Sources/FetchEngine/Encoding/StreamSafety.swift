// Strings are compared in a normal form, and a long run of combining marks is brought into it in quadratic time: a
// text of 64 KB would take a second for each comparison.

extension Sequence<Unicode.Scalar> {
    /// Whether a text has no more than 30 combining marks in a row, so that comparing and hashing it is linear.
    ///
    /// UAX #15, Stream-Safe Text Format: no text of any language has more.
    package var isStreamSafe: Bool {
        var marks = 0
        for scalar in self {
            // None is below U+0300.
            let isMark = scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass != .notReordered
            marks = isMark ? marks + 1 : 0
            if marks > 30 { return false }
        }
        return true
    }
}
