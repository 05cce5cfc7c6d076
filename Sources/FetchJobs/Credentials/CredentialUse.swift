/// That a stored credential was given to a job, to convince a server or a proxy.
package struct CredentialUse: Sendable {
    package enum IDKind: IdentifierKind {
        package static let prefix = "use"
    }

    package typealias ID = Identifier<IDKind>

    package let id: ID
    package let usedAt: Timestamp
    package let credential: StoredCredential.ID
    /// Nil when the job was one of an ephemeral session.
    package let job: Job.ID?
    /// The protection space, as ``ProtectionSpace`` writes it.
    package let space: RawJSON

    package init(id: ID, usedAt: Timestamp, credential: StoredCredential.ID, job: Job.ID?, space: RawJSON) {
        self.id = id
        self.usedAt = usedAt
        self.credential = credential
        self.job = job
        self.space = space
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("action", "credential.used")
        writer.member("at", usedAt.description)
        writer.member("credential", credential.description)
        writer.member("job", job?.description)
        writer.member("protectionSpace", space)
    }
}
