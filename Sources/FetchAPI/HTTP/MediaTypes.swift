import HTTPTypes

extension HTTPFields {
    /// Whether a client names one of these media types among those that it takes (RFC 9110 §12.5.1).
    func accepts(_ types: String...) -> Bool {
        self[values: .accept].contains { field in
            field.split(separator: ",").contains { part in
                types.contains(part.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased())
            }
        }
    }
}
