/// Why a call of the store failed.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The database cannot be reached; nothing was stored, or it is not known whether it was.
        case unavailable = "databaseUnavailable"
        /// The database refused: a fault of ours or of its set-up.
        case failed = "databaseFailed"
        /// The blob store cannot take or give bytes.
        case blob = "blobStoreFailed"
        /// Another node has it in memory; the message names that node.
        case elsewhere
        /// The bytes of blobs are out of reach for now; nothing was lost.
        case blobAway = "blobStoreUnavailable"
        /// There is no such blob in the blob store any more.
        case blobGone
        /// The blob store has no room left.
        case full = "storageFull"
        /// The tenant has as many bytes stored as it may.
        case overQuota
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?

    package init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    package var description: String {
        "\(code.rawValue): \(message)" + (underlying.map { " (\($0))" } ?? "")
    }
}
