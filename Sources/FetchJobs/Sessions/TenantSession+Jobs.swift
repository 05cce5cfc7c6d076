extension TenantSession {
    /// An id for a new job of the session.
    ///
    /// The ids of an ephemeral session's jobs tell which session they belong to: nothing that is stored says it.
    package func newJobID() -> Job.ID {
        guard spec.kind == .ephemeral else { return Job.ID() }
        let new = UUIDv7()
        return Job.ID(UUIDv7(high: new.high, low: id.uuid.low & ~Self.ownBits | new.low & Self.ownBits))
    }

    /// Whether the id was made for a job of an ephemeral session.
    package static func isEphemeralOwner(_ session: ID, of job: Job.ID) -> Bool {
        (job.uuid.low ^ session.uuid.low) & ~ownBits == 0
    }

    /// The bits of an id that are the job's own, beside the time; 40 others are random and the session's.
    private static let ownBits: UInt64 = 0x3F_FFFF
}
