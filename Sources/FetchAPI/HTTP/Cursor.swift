import FetchJobs
import FoundationEssentials

/// Where a list goes on: after which element, under which filter.
struct Cursor<Kind: IdentifierKind> {
    let after: Identifier<Kind>
    /// The list's filter, as one word; empty for none.
    let filter: String

    init(after: Identifier<Kind>, filter: String) {
        self.after = after
        self.filter = filter
    }

    /// Reads a cursor that a list with this filter gave out.
    init(_ text: String, filter: String) throws(Problem) {
        let parts = OpaqueText.read(text)?.split(separator: ".", omittingEmptySubsequences: false)
        guard let parts, parts.count == 2, parts[0] == filter, let after = Identifier<Kind>(parts[1]) else {
            throw Problem(parameter: "cursor", "is not one that this list gave out")
        }
        self.init(after: after, filter: filter)
        guard self.text == text else { throw Problem(parameter: "cursor", "is not one that this list gave out") }
    }

    /// A filter as one word, however long it is; empty for none.
    static func digest(of filter: String) -> String {
        guard !filter.isEmpty else { return "" }
        return SHA256Digest(of: Array(filter.utf8)).hexadecimal(8)
    }

    /// Opaque to clients, and safe in a URL.
    var text: String { OpaqueText.write("\(filter).\(after)") }
}

/// Texts that clients hand back as they got them, safe in a URL: base64url without padding.
enum OpaqueText {
    static func write(_ text: String) -> String { write(Array(text.utf8)) }

    static func write(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The longest that is read: the key of a flow is the longest text in one.
    private static let maximumLength = 4096

    static func read(_ opaque: String) -> String? {
        guard opaque.utf8.count <= maximumLength else { return nil }
        let base64 = opaque.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64 + padding).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
