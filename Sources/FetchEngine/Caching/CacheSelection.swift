package import HTTPTypes

/// The requests that a stored response answers: the fields that its `Vary` names, with their values in the request
/// (RFC 9111 §4.1).
///
/// Only a digest of the values is kept, because `Cookie` and `Authorization` may be among them. A request with
/// `Authorization` counts as if the response had named that field, so no user gets the response of another one. So does
/// `Accept-Encoding` for a response with a content coding, which is undone only for requests without that field.
public struct CacheSelection: Sendable, Hashable {
    /// The names in lower case, sorted.
    public let names: [String]
    /// The SHA-256 of their values in the request; empty when there are no names.
    public let digest: [UInt8]

    /// Any request selects the answer.
    public static let any = CacheSelection(names: [], digest: [])

    /// Makes a selection as it was stored.
    public init(names: [String], digest: [UInt8]) {
        self.names = names
        self.digest = digest
    }

    /// The request fields by which a response varies; nil when no other request can select it (`Vary: *`).
    init?(of responseFields: HTTPFields, for request: HTTPFields) {
        var names = request.contains(.authorization) ? ["authorization"] : []
        // Whether the engine has undone the coding depends on this field, even if `Vary` does not name it.
        if responseFields.contains(.contentEncoding) { names.append("accept-encoding") }
        for value in responseFields[values: .vary] {
            for name in value.split(separator: ",") {
                let trimmed = name.trimmed.lowercased()
                if trimmed == "*" { return nil }
                if !trimmed.isEmpty { names.append(trimmed) }
            }
        }
        self.names = Set(names).sorted()
        digest = Self.digest(of: self.names, in: request)
    }

    /// Whether a request with these fields is given the answer.
    package func matches(_ fields: HTTPFields) -> Bool {
        // A response without a user may differ from that for a user.
        guard names.contains("authorization") == fields.contains(.authorization) else { return false }
        return names.isEmpty || Self.digest(of: names, in: fields) == digest
    }

    /// Values are compared with white space around them and the split into lines undone; an absent field differs from
    /// an empty one.
    private static func digest(of names: [String], in fields: HTTPFields) -> [UInt8] {
        guard !names.isEmpty else { return [] }
        var chosen = ByteWriter()
        for name in names {
            let values = HTTPField.Name(name).map { fields[values: $0] } ?? []
            let value = values.isEmpty ? "" : "=" + values.map { String(Substring($0).trimmed) }.joined(separator: ", ")
            chosen.append(name)
            chosen.append(value)
        }
        return ContentDigest.sha256.digest(of: chosen.bytes)
    }
}
