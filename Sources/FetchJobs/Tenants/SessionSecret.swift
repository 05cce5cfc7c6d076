/// The key that the dashboard's cookies and forms are signed with; it never prints itself.
package struct SessionSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package let bytes: [UInt8]

    /// A new secret of 256 random bits.
    package init() {
        var random = SystemRandomNumberGenerator()
        bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// - Parameter bytes: At least 32 of them.
    package init(bytes: [UInt8]) {
        precondition(bytes.count >= 32, "a session secret has at least 256 bits")
        self.bytes = bytes
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
}
