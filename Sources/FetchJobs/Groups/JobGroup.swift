/// Jobs that belong together, of which one event tells when all are final.
package struct JobGroup: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "grp"
    }

    package typealias ID = Identifier<Kind>

    /// Which group of which tenant.
    package struct Address: Hashable, Sendable {
        package let tenant: Tenant.ID
        package let id: ID

        package init(tenant: Tenant.ID, id: ID) {
            self.tenant = tenant
            self.id = id
        }
    }

    package let id: ID
    package let tenant: Tenant.ID
    package let spec: JobGroupSpec
    package let createdAt: Timestamp
    /// Since when it takes no more jobs.
    package var closedAt: Timestamp?
    /// When the last of its jobs was final after that.
    package var finishedAt: Timestamp?

    package init(id: ID = ID(), tenant: Tenant.ID, spec: JobGroupSpec, createdAt: Timestamp = .now) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.createdAt = createdAt
    }

    package var state: JobGroupState { finishedAt != nil ? .finished : closedAt != nil ? .closed : .open }

    /// - Parameter counts: How many jobs are in which state, when that is known.
    package func write(_ writer: inout JSONWriter, counts: [JobState: Int64]? = nil) {
        writer.member("id", id.description)
        writer.member("state", state.rawValue)
        spec.write(&writer)
        writer.member("createdAt", createdAt.description)
        writer.member("closedAt", closedAt?.description)
        writer.member("finishedAt", finishedAt?.description)
        guard let counts else { return }
        writer.member(
            "jobs",
            object: { writer in
                writer.member("total", counts.values.reduce(0, +))
                for state in JobState.allCases { writer.member(state.rawValue, counts[state] ?? 0) }
            }
        )
    }
}

/// Where a group is in its life; it goes forward only.
package enum JobGroupState: String, Sendable, CaseIterable {
    /// It takes jobs.
    case open
    /// It takes none; those there are go on.
    case closed
    /// It takes none, and all are final.
    case finished
}

/// The submission of a group.
package struct JobGroupSpec: Sendable, Equatable {
    /// The client's own words about the group.
    package let labels: [JobSpec.Label]
    /// Where its event is sent, when anywhere.
    package var webhook: JobSpec.Webhook?

    /// Reads and checks the body of a request for a new group, or what ``write(_:)`` wrote.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["labels", "webhook"])
        labels = object?["labels"].map { JobSpec.labels($0) } ?? []
        webhook = object?["webhook"].flatMap { JobSpec.Webhook(reader: $0) }
        if labels.count > JobSpec.maximumLabels {
            check.refuse("/labels", "has more than \(JobSpec.maximumLabels) labels")
        }
        try check.finish()
    }

    package func write(_ writer: inout JSONWriter) {
        if !labels.isEmpty { writer.member("labels", object: { JobSpec.write(labels, &$0) }) }
        if let webhook { writer.member("webhook", object: webhook.write) }
    }

    package var json: [UInt8] { JSONWriter.object(write) }
}
