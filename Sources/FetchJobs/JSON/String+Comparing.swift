import FetchEngine

extension String {
    /// Whether the text has no more than 30 combining marks in a row, so that comparing and hashing it is linear.
    ///
    /// Most texts are ASCII, and need no look at their characters.
    package var isStreamSafe: Bool { utf8.allSatisfy { $0 < 0x80 } || unicodeScalars.isStreamSafe }

    /// Whether the text equals a short known one, by bytes first: a longer one is never brought into a normal form.
    package func isSame(as known: String) -> Bool { utf8.count == known.utf8.count && self == known }
}
