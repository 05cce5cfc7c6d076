import FetchJobs
import HTTPTypes

extension HTTPRequest {
    /// Whether its path and the values of its fields can be compared at the price of their length.
    var isStreamSafe: Bool {
        (path?.isStreamSafe ?? true)
            && headerFields.allSatisfy { field in
                field.withUnsafeBytesOfValue { $0.allSatisfy { $0 < 0x80 } } || field.value.isStreamSafe
            }
    }
}

extension HTTPFields {
    /// The value of a field, or of all fields of its name in one; nil when there is none.
    ///
    /// What the subscript gives, which puts the value together anew even when there is one field alone.
    func value(of name: HTTPField.Name) -> String? {
        guard let first = firstIndex(where: { $0.name == name }) else { return nil }
        let others = self[index(after: first)...]
        return others.contains { $0.name == name } ? self[name] : self[first].value
    }
}
