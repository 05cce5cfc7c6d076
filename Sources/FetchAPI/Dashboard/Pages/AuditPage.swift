import FetchJobs

/// A page of the audit log: who did what.
struct AuditPage {
    struct Row {
        let at: String
        let age: String
        /// The kind of the actor, with its key or sign-in.
        let actor: String
        let client: String?
        let action: String
        /// How often, where it was more than once.
        let count: String?
        let object: String?
        let details: String?
    }

    let frame: PageFrame
    let entries: [Row]
    let isEmpty: Bool
    let next: String?

    init(_ entries: [AuditEntry], next: String?, frame: PageFrame, now: Timestamp) {
        self.frame = frame
        self.next = next
        self.entries = entries.map { Row($0, now: now) }
        isEmpty = entries.isEmpty
    }
}

extension AuditPage.Row {
    fileprivate init(_ entry: AuditEntry, now: Timestamp) {
        at = entry.at.description
        age = Age.text(since: entry.at, now: now)
        actor = [entry.actor, entry.key ?? entry.signIn].compactMap(\.self).joined(separator: " ")
        client = entry.client
        action = entry.action
        count = entry.count > 1 ? "\(entry.count) times" : nil
        object = entry.object.map(VisibleText.cut)
        details = entry.details.map { VisibleText.cut($0.text) }
    }
}
