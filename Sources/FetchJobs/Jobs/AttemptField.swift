package import HTTPTypes

/// A header field whose value is made for each attempt of a job.
package struct AttemptField: Sendable, Equatable {
    package enum Content: String, Sendable, CaseIterable {
        /// The id of the job.
        case job
        /// How many attempts were followed by another one: 0 in the first.
        case retries
        /// A ``RequestSignature`` with the current key of the tenant.
        case signature
    }

    package static let maximumCount = 10
    private static let standardIssuer = "fetchd"

    package let name: HTTPField.Name
    package let content: Content
    /// Who a signature says it is from.
    package let issuer: String

    init?(reader: JSONReader) {
        guard let object = reader.object(of: ["name", "content", "issuer"]), let nameReader = object.required("name"),
            let text = nameReader.string(maximumLength: 256),
            let content = object.required("content")?.oneOf(Content.self)
        else { return nil }
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            nameReader.refuse("must be a token (RFC 9110 §5.1) (headerInvalid)")
            return nil
        }
        let canonical = name.canonicalName
        if JobRequest.engineFields.contains(canonical) || canonical.hasPrefix("proxy-") {
            nameReader.refuse("belongs to the engine and cannot be set (headerForbidden)")
        }
        if content != .signature { object["issuer"]?.refuse("is for the content signature") }
        self.name = name
        self.content = content
        issuer = object["issuer"]?.string(maximumLength: 64) ?? Self.standardIssuer
    }

    func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name.rawName)
            writer.member("content", content.rawValue)
            if content == .signature, issuer != Self.standardIssuer { writer.member("issuer", issuer) }
        }
    }
}
