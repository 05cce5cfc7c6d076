import HTTPTypes

extension Response {
    /// The content codings in the order they were applied, in lower case, `identity` left out; empty for none.
    var contentCoding: String { Self.contentCoding(headerFields) }

    static func contentCoding(_ fields: HTTPFields) -> String {
        guard fields.contains(.contentEncoding) else { return "" }
        return fields[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
            .joined(separator: ", ")
    }
}
