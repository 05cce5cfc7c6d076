import FetchJobs
import HTTPTypes

/// The parts of a message that are secrets by `Upstash-Redact-Fields`, such as `body, header[X-Own]`.
struct QStashRedaction {
    private static let control = "redact-fields"
    private static let maximumParts = 100

    private(set) var hasBody = false
    /// Whether all fields that the message has from its client are meant.
    private var hasAllFields = false
    /// In lower case.
    private var names: Set<String> = []

    /// Nil for a message that names none.
    init?(of fields: QStashFields) throws(Problem) {
        guard let text = fields[Self.control] else { return nil }
        let parts = text.split(separator: ",", maxSplits: Self.maximumParts)
        guard (1...Self.maximumParts).contains(parts.count) else {
            throw fields.refusal(Self.control, "must name 1 to \(Self.maximumParts) parts")
        }
        for part in parts {
            switch part.trimmingWhiteSpace {
            case "body": hasBody = true
            case "header", "headers": hasAllFields = true
            case let part:
                guard let name = part.wholeMatch(of: #/header\[(.+)\]/#)?.1, HTTPField.Name(String(name)) != nil else {
                    throw fields.refusal(Self.control, "knows body, header and header[Name] only")
                }
                names.insert(name.lowercased())
            }
        }
    }

    /// Whether a field with this name is a secret.
    ///
    /// - Parameter name: In lower case.
    func hides(fieldNamed name: String) -> Bool { hasAllFields || names.contains(name) }
}
