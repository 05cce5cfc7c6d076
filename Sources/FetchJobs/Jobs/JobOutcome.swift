/// How one attempt of a job ended: all that is stored of it.
package struct JobOutcome: Sendable {
    package let state: JobState
    package let startedAt: Timestamp
    package let finishedAt: Timestamp
    package var status: Int?
    /// `{"url", "status", "headers", …}`.
    package var response: RawJSON?
    /// `{"domain", "code", "name", "message", …}`.
    package var error: RawJSON?
    package var errorName: String?
    package var redirects: RawJSON?
    package var metrics: RawJSON?
    package var body: Body?

    /// The bytes of a response: beside their row, or in the blob store.
    package enum Body: Sendable {
        case inline([UInt8])
        case blob(Blob.ID, bytes: Int64, digest: SHA256Digest)
    }

    package init(state: JobState, startedAt: Timestamp, finishedAt: Timestamp) {
        self.state = state
        self.startedAt = startedAt
        self.finishedAt = finishedAt
    }
}

/// Stored bytes that are too many for a row.
package enum Blob {
    package enum Kind: IdentifierKind {
        package static let prefix = "blb"
    }

    package typealias ID = Identifier<Kind>

    /// Bodies up to this size are kept beside their row.
    package static let inlineLimit = 65_536
}
