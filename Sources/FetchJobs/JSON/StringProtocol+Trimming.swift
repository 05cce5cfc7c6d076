extension StringProtocol {
    /// Without the white space around it, line breaks among it.
    package var trimmingWhiteSpace: String {
        let start = drop(while: \.isWhitespace)
        return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) } ?? ""
    }
}
