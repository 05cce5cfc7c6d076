/// Stored bytes: a request body that was uploaded, a downloaded file, or a part of one.
package struct Blob: Sendable {
    package enum Kind: StoredKind {
        package static let prefix = "blb"
    }

    package typealias ID = Identifier<Kind>

    /// Bodies up to this size are kept beside their row.
    package static let inlineLimit = 65_536

    package let tenant: Tenant.ID
    package let content: MeasuredBlob
    /// The media type its owner named.
    package let contentType: String?
    package let createdAt: Timestamp
    /// It is removed then; nil to keep it until it is deleted.
    package let expiresAt: Timestamp?

    package init(
        tenant: Tenant.ID,
        content: MeasuredBlob,
        contentType: String?,
        createdAt: Timestamp = .now,
        expiresAt: Timestamp? = nil
    ) {
        self.tenant = tenant
        self.content = content
        self.contentType = contentType
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    package var id: ID { content.id }

    /// Writes the members of the blob.
    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("bytes", content.bytes)
        writer.member("digest", content.digest.field)
        writer.member("contentType", contentType)
        writer.member("createdAt", createdAt.description)
        writer.member("expiresAt", expiresAt?.description)
        writer.member("href", "/v1/blobs/\(id)")
    }
}

/// A blob in the store, with the size and the digest of its bytes.
package struct MeasuredBlob: Sendable, Equatable {
    package let id: Blob.ID
    package let bytes: Int64
    package let digest: SHA256Digest

    package init(id: Blob.ID, bytes: Int64, digest: SHA256Digest) {
        self.id = id
        self.bytes = bytes
        self.digest = digest
    }
}
