package import FetchJobs

/// The contract of every form of ``GroupStore``.
package enum GroupStoreContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any GroupStore

        package init(jobs: JobsSubject, store: any GroupStore) {
            self.jobs = jobs
            self.store = store
        }

        fileprivate func new() throws -> JobGroup {
            let spec = try JobGroupSpec(json: JSONParser.parse(#"{"labels": {"a": "1"}}"#.utf8))
            return JobGroup(tenant: jobs.tenant, spec: spec)
        }

        fileprivate func create() async throws -> JobGroup.ID {
            let group = try new()
            _ = try await store.create(group, nil)
            return group.id
        }

        fileprivate func enqueue(_ group: JobGroup.ID) async throws -> Enqueued? {
            try await jobs.store.enqueue([.make(more: #", "group": "\#(group)""#)]).first
        }

        fileprivate func state(_ id: JobGroup.ID) async throws -> JobGroupState? {
            try await store.group(id, of: jobs.tenant)?.state
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("a group is stored as it was asked for, and is its tenant's alone") { subject in
            let group = try subject.new()
            guard case .created(let created) = try await subject.store.create(group, nil) else {
                return ["not created"]
            }
            let (found, other) = (try await subject.store.group(group.id, of: subject.jobs.tenant), subject.jobs.other)
            return compare("created", created.id, group.id) + compare("spec", found?.spec, group.spec)
                + compare("state", found?.state, .open)
                + compare("another's", try await subject.store.group(group.id, of: other) == nil, true)
                + compare("closed by another", try await subject.store.close(group.id, of: other) == nil, true)
                + compare("list", try await subject.store.groups(of: other, after: nil, limit: 9).map(\.id), [])
        },
        Clause("pages of a list meet, the newest first") { subject in
            var ids: [JobGroup.ID] = []
            for _ in 0..<3 { ids.append(try await subject.create()) }
            let first = try await subject.store.groups(of: subject.jobs.tenant, after: nil, limit: 2).map(\.id)
            let rest = try await subject.store.groups(of: subject.jobs.tenant, after: first.last, limit: 2).map(\.id)
            return compare("first", first, [ids[2], ids[1]]) + compare("rest", rest, [ids[0]])
        },
        Clause("a key makes one group") { subject in
            let key = { Idempotency(key: "k", fingerprint: SHA256Digest(of: [$0])) }
            guard case .created(let first) = try await subject.store.create(subject.new(), key(1)),
                case .replayed(let again) = try await subject.store.create(subject.new(), key(1)),
                case .conflict = try await subject.store.create(subject.new(), key(2))
            else { return ["the key did not count"] }
            return compare("replayed", again.id, first.id)
        },
        Clause("a group takes jobs until it is closed, and of its tenant alone") { subject in
            let (open, closed) = (try await subject.create(), try await subject.create())
            let state = try await subject.store.close(closed, of: subject.jobs.tenant)?.state
            let enqueued = [try await subject.enqueue(open), try await subject.enqueue(closed)]
            let unknown = try await subject.enqueue(JobGroup.ID())
            return compare("state", state, .finished) + compare("open", enqueued[0]?.isAccepted, true)
                + compare("closed", enqueued[1], .groupClosed) + compare("unknown", unknown, .groupClosed)
                + compare("close", try await subject.store.close(JobGroup.ID(), of: subject.jobs.tenant) == nil, true)
        },
        Clause("a group is finished when it is closed and its last job is final, and is removed then") { subject in
            let group = try await subject.create()
            for _ in 0..<3 { _ = try await subject.enqueue(group) }
            try await subject.jobs.run(.make(.failed))
            let counts = try await subject.store.counts(of: group, tenant: subject.jobs.tenant)
            let closed = try await subject.store.close(group, of: subject.jobs.tenant)?.state
            let early = try await subject.store.remove(group, of: subject.jobs.tenant)
            try await subject.jobs.run(.make(), .make())
            try await subject.store.settle()
            let finished = try await subject.state(group)
            let foreign = try await subject.store.remove(group, of: subject.jobs.other)
            return compare("counts", counts, [.failed: 1, .queued: 2]) + compare("closed", closed, .closed)
                + compare("finished", finished, .finished)
                + compare("removed early", [early, foreign], [false, false])
                + compare("removed", try await subject.store.remove(group, of: subject.jobs.tenant), true)
                + compare("then", try await subject.state(group), nil)
        },
        Clause("a group whose jobs are all final stays open until it is closed") { subject in
            let group = try await subject.create()
            _ = try await subject.enqueue(group)
            try await subject.jobs.run(.make())
            try await subject.store.settle()
            let open = try await subject.state(group)
            let first = try await subject.store.close(group, of: subject.jobs.tenant)
            let again = try await subject.store.close(group, of: subject.jobs.tenant)
            return compare("open", open, .open) + compare("closed", first?.state, .finished)
                + compare("once", again?.closedAt, first?.closedAt)
        },
    ]
}
