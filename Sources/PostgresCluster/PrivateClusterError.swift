/// Why the private cluster is not available, and the next step.
package struct PrivateClusterError: Error, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// No PostgreSQL that this release can use is installed.
        case binariesMissing = "binaries_missing"
        /// The cluster on disk belongs to a major version that is not installed.
        case versionMissing = "version_missing"
        /// The service runs as root and there is no other user to run PostgreSQL as.
        case userMissing = "user_missing"
        /// The user id has no entry in the password file, which `initdb` needs.
        case userNameless = "user_nameless"
        /// A directory cannot be made, entered or trusted.
        case directoryUnusable = "directory_unusable"
        /// Another process owns the cluster and it does not answer.
        case locked
        /// `initdb` failed; nothing of the cluster remains.
        case creationFailed = "creation_failed"
        /// PostgreSQL did not start, or stopped again and again.
        case startFailed = "start_failed"
        /// The supervisor was called wrongly.
        case invalidArguments = "invalid_arguments"
    }

    package let code: Code
    /// The failure and the next step, for a person.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }

    /// The alternative that every such failure leaves open.
    static let alternative = "Or give the address of a PostgreSQL of your own: DATABASE_URL or --database-url."
}
