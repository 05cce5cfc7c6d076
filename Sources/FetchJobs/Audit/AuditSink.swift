import Glibc

/// A place outside of the database that gets every entry of the audit log.
package protocol AuditSink: Sendable {
    /// Where it is. A sink of another name begins with the oldest entry.
    var name: String { get }
    var kind: AuditSinkKind { get }

    /// Hands entries over, in this order.
    ///
    /// What throws is done again, with the same entries first: the place may have some of them already.
    func write(_ entries: [AuditEntry]) async throws(AuditSinkFailure)
}

package enum AuditSinkKind: String, Sendable {
    case file
    case syslog
}

/// Why a sink has not taken entries.
package struct AuditSinkFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// - Parameter number: What the system says, as `errno`.
    package init(_ place: String, errno number: Int32) {
        description = "\(place): \(String(cString: strerror(number)))"
    }
}
