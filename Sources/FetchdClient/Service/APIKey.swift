import Foundation

/// The key of a tenant, with which calls are made.
///
/// It does not print.
public struct APIKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Nil when the environment has none.
    let text: String?

    /// Makes a key of its text, `fk_…`.
    public init(_ text: String) { self.text = text }

    private init(environment: String?) { text = environment }

    /// The key that a variable of the environment holds when this is called.
    ///
    /// Without the variable every call fails with `keyInvalid`.
    public static func environment(_ name: String = "FETCHD_KEY") -> APIKey {
        APIKey(environment: ProcessInfo.processInfo.environment[name])
    }

    /// Always the same text.
    public var description: String { "<redacted>" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The field that carries it, or nil when it is no key: it goes into no header field then.
    var authorization: String? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return "Bearer \(text)"
    }
}
