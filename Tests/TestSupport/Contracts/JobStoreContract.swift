import FetchJobs

/// The contract of every form of ``JobStore``, with jobs that a ``WorkQueue`` runs.
package enum JobStoreContract {
    package static let clauses: [Clause<JobsSubject>] = submitting + listing + changing + ending

    // MARK: Submitting

    private static let submitting: [Clause<JobsSubject>] = [
        Clause("a job is stored as it was asked for, and is its tenant's alone") { subject in
            let new = try NewJob.make(more: #", "labels": {"z": "1", "a": "2"}"#)
            let enqueued = try await subject.store.enqueue([new])
            let job = try await subject.job(new.id)
            let others = try await subject.store.jobs(of: subject.other, state: nil, page: JobPage(limit: 9))
            return compare("enqueued", enqueued, [.accepted(new.id)]) + compare("state", job?.state, .queued)
                + compare("spec", job?.spec.text, RawJSON(new.spec.json).text)
                + compare("another's", try await subject.store.job(new.id, of: subject.other) == nil, true)
                + compare("another's list", others.map(\.id), [])
        },
        Clause("what another tenant asks of a job changes nothing") { subject in
            let (store, other) = (subject.store, subject.other)
            let ids = try await subject.enqueue("", "")
            try await subject.run(.make(.failed))
            try await store.cancel(ids, of: other, .plainly)
            try await store.setSuspended(ids, of: other, true)
            let removed = try await store.remove(ids, of: other)
            let again = NewJob(id: ids[0], tenant: other, spec: try .make())
            let redriven = try await store.redrive([again])
            return compare("removed", removed, []) + compare("redriven", redriven, [])
                + compare("final", try await subject.state(ids[0]), .failed)
                + compare("waiting", try await subject.state(ids[1]), .queued)
                + compare("body", try await store.body(of: ids[0], tenant: other) == nil, true)
        },
        Clause("a key is good for one job: the same request is a replay, another one a conflict") { subject in
            let first = try NewJob.make(key: "k", fingerprint: 1)
            let jobs = [try NewJob.make(key: "k", fingerprint: 1), try .make(key: "k", fingerprint: 2), try .make()]
            let enqueued = [try await subject.store.enqueue([first]), try await subject.store.enqueue(jobs)]
            let all = try await subject.store.jobs(of: subject.tenant, state: nil, page: JobPage(limit: 9))
            return compare("first", enqueued[0], [.accepted(first.id)])
                + compare("then", enqueued[1], [.replayed(first.id), .conflict, .accepted(jobs[2].id)])
                + compare("stored", Set(all.map(\.id)), [first.id, jobs[2].id])
        },
        Clause("of jobs with one unique key a tenant's first is stored, and stands for the others") { subject in
            let unique = #", "unique": {"key": "k"}"#
            let jobs = [
                try NewJob.make(more: unique), try .make(more: unique), try .make(more: #", "unique": {"key": "l"}"#),
            ]
            let foreign = NewJob(tenant: subject.other, spec: try .make(more: unique))
            let again = [try NewJob.make(more: unique, key: "i", fingerprint: 1), try .make()]
            let enqueued = [
                try await subject.store.enqueue(jobs), try await subject.store.enqueue(again),
                try await subject.store.enqueue([foreign]),
            ]
            let all = try await subject.store.jobs(of: subject.tenant, state: nil, page: JobPage(limit: 9))
            let first = jobs[0].id
            return compare("first", enqueued[0], [.accepted(first), .duplicate(of: first), .accepted(jobs[2].id)])
                + compare("again", enqueued[1], [.duplicate(of: first), .accepted(again[1].id)])
                + compare("of another tenant", enqueued[2], [.accepted(foreign.id)])
                + compare("stored", Set(all.map(\.id)), [first, jobs[2].id, again[1].id])
        },
        Clause("a repeat of the request that made a unique job is told the same, by its key") { subject in
            let unique = #", "unique": {"key": "k"}"#
            let first = try NewJob.make(more: unique, key: "i", fingerprint: 1)
            let enqueued = [
                try await subject.store.enqueue([first]),
                try await subject.store.enqueue([try .make(more: unique, key: "i", fingerprint: 1)]),
                try await subject.store.enqueue([try .make(more: unique, key: "i", fingerprint: 2)]),
                try await subject.store.enqueue([try .make(more: unique, key: "j")]),
                // A key that stands for no job is free.
                try await subject.store.enqueue([try .make(key: "j", fingerprint: 3)]),
            ]
            return compare("first", enqueued[0], [.accepted(first.id)])
                + compare("replay", enqueued[1], [.replayed(first.id)]) + compare("conflict", enqueued[2], [.conflict])
                + compare("duplicate", enqueued[3], [.duplicate(of: first.id)])
                + compare("free", enqueued[4].map(\.isAccepted), [true])
        },
        Clause("a job that is to wait or to be held does so from the start") { subject in
            let ids = try await subject.enqueue(#", "runAt": "2999-01-01T00:00:00Z""#, #", "suspended": true"#)
            let states = [try await subject.state(ids[0]), try await subject.state(ids[1])]
            return compare("states", states, [.scheduled, .suspended])
                + compare("claimed", try await subject.claim().map(\.id), [])
        },
    ]

    // MARK: Lists

    private static let listing: [Clause<JobsSubject>] = [
        Clause("pages of a list meet without gap or repeat, the newest first") { subject in
            var ids: [Job.ID] = []
            for _ in 0..<7 { ids += try await subject.enqueue("") }
            var pages: [[Job.ID]] = []
            repeat {
                let page = JobPage(limit: 3, after: pages.last?.last)
                pages.append(try await subject.store.jobs(of: subject.tenant, state: nil, page: page).map(\.id))
            } while pages.last?.isEmpty == false
            return compare("pages", pages.map(\.count), [3, 3, 1, 0])
                + compare("ids", pages.flatMap(\.self), ids.reversed())
        },
        Clause("a list is read back the way it was read, page by page") { subject in
            var ids: [Job.ID] = []
            for _ in 0..<7 { ids += try await subject.enqueue("") }
            let (last, newer) = (ids[0], Array(ids.reversed()))
            var pages: [[Job.ID]] = []
            repeat {
                let page = JobPage(limit: 3, at: .before(pages.last?.first ?? last))
                pages.append(try await subject.store.jobs(of: subject.tenant, state: nil, page: page).map(\.id))
            } while pages.last?.isEmpty == false
            var filter = JobFilter()
            filter.host = "origin.example"
            let page = JobPage(limit: 2, at: .before(last))
            let found = try await subject.store.jobs(of: subject.tenant, matching: filter, page: page)
            return compare("pages", pages, [Array(newer[3..<6]), Array(newer[0..<3]), []])
                + compare("of a host", found.map(\.id), Array(newer[4..<6]))
        },
        Clause("a count follows its filter, up to its limit") { subject in
            try await subject.enqueue("", "", "")
            try await subject.run(.make(.failed))
            let count = { @Sendable (limit: Int, change: @Sendable (inout JobFilter) -> Void) async throws -> Int in
                var filter = JobFilter()
                change(&filter)
                return try await subject.store.count(of: subject.tenant, matching: filter, limit: limit).number
            }
            return compare("all", try await count(9) { _ in }, 3) + compare("limit", try await count(2) { _ in }, 2)
                + compare("queued", try await count(9) { $0.state = .queued }, 2)
                + compare("error", try await count(9) { $0.error = "timedOut" }, 1)
                + compare("host", try await count(9) { $0.host = "other.example" }, 0)
                + compare("method", try await count(9) { $0.method = "GET" }, 3)
        },
        Clause("a summary tells of a job without what its URL may hide") { subject in
            try await subject.enqueue("", "", "")
            try await subject.run(.make(), .make(.failed))
            let list = try await subject.store.jobs(of: subject.tenant, state: nil, page: JobPage(limit: 9))
            return compare("states", list.map(\.state), [.queued, .failed, .succeeded])
                + compare("ends", list.map { $0.finishedAt != nil }, [false, true, true])
                + compare("statuses", list.map(\.status), [nil, nil, 200])
                + compare("errors", list.map(\.errorName), [nil, "timedOut", nil])
                + compare("URLs", Set(list.map { "\($0.method) \($0.url)" }), ["GET http://origin.example/a"])
        },
        Clause("jobs are found by the size of their body") { subject in
            let ids = try await subject.enqueue("", "", "")
            try await subject.run(.make(body: .inline([1, 2, 3])), .make(body: .inline([1])))
            let found = { @Sendable (size: String) async throws -> [Job.ID] in
                var filter = JobFilter(state: .succeeded)
                filter.bodyBytes = BodySizeFilter(size)
                let page = JobPage(limit: 9)
                return try await subject.store.jobs(of: subject.tenant, matching: filter, page: page).map(\.id)
            }
            return compare("from", try await found("2.."), [ids[0]]) + compare("to", try await found("..2"), [ids[1]])
                + compare("one", try await found("3"), [ids[0]])
        },
        Clause("a list can be of those of one kind alone") { subject in
            let ids = try await subject.enqueue(
                "", "", #", "labels": {"a": "1", "b": "2"}"#, #", "runAt": "2999-01-01T00:00:00Z""#)
            try await subject.run(.make(), .make(.failed))
            let found = { @Sendable (change: @Sendable (inout JobFilter) -> Void) async throws -> [Job.ID] in
                var filter = JobFilter()
                change(&filter)
                let page = JobPage(limit: 9)
                return try await subject.store.jobs(of: subject.tenant, matching: filter, page: page).map(\.id)
            }
            return compare("state", try await found { $0.state = .scheduled }, [ids[3]])
                + compare("states", try await found { $0.states = [.queued, .scheduled] }, [ids[3], ids[2]])
                + compare("final states", try await found { $0.states = [.succeeded, .failed] }, [ids[1], ids[0]])
                + compare("states of both", try await found { $0.states = [.queued, .failed] }, [ids[2], ids[1]])
                + compare("error", try await found { $0.error = "timedOut" }, [ids[1]])
                + compare("status", try await found { $0.status = StatusFilter("2xx") }, [ids[0]])
                + compare("labels", try await found { $0.labels = [.init(name: "b", value: "2")] }, [ids[2]])
                + compare("host", try await found { $0.host = "other.example" }, [])
                + compare("both", try await found { ($0.host, $0.state) = ("origin.example", .queued) }, [ids[2]])
                + compare("method", try await found { $0.method = "POST" }, [])
                + compare("URL", try await found { $0.url = URLFilter("http://origin.example") }, [])
                + compare(
                    "URL whole", try await found { $0.url = URLFilter("HTTP://origin.example:80/a?secret=1") },
                    ids.reversed())
                + compare("URL without query", try await found { $0.url = URLFilter("http://origin.example/a") }, [])
                + compare("prefix", try await found { $0.prefix = URLFilter("http://origin.example/") }, ids.reversed())
                + compare(
                    "prefix of another", try await found { $0.prefix = URLFilter("http://origin.example/b") }, [])
                + compare("no body", try await found { $0.bodyBytes = BodySizeFilter("0..") }, [])
        },
    ]

    // MARK: Changing

    /// Changes a job as it was read.
    private static func change(
        _ job: Job?, _ text: String, of tenant: Tenant.ID? = nil, in subject: JobsSubject
    ) async throws -> Bool {
        guard let job, let spec = job.storedSpec else { return false }
        let change = try JobChange(json: JSONParser.parse(text.utf8))
        let changed = try change.applied(to: spec)
        return try await subject.store.change(
            job.id, of: tenant ?? subject.tenant, from: job.spec, to: changed, change)
    }

    private static let changing: [Clause<JobsSubject>] = [
        Clause("a job is changed from what was read, and not over another's change") { subject in
            let id = try await subject.enqueue("")[0]
            let read = try await subject.job(id)
            let text = #"{"labels": {"a": "1"}}"#
            let changed = [
                try await change(read, text, of: subject.other, in: subject), try await change(read, text, in: subject),
                try await change(read, text, in: subject),
            ]
            let labels = try await subject.job(id)?.storedSpec?.labels.map(\.name)
            return compare("changed", changed, [false, true, false]) + compare("labels", labels, ["a"])
        },
        Clause("a changed job waits at its new place and for its new time") { subject in
            let ids = try await subject.enqueue("", "")
            _ = try await change(subject.job(ids[0]), #"{"runAt": "2999-01-01T00:00:00Z"}"#, in: subject)
            let state = try await subject.state(ids[0])
            _ = try await change(subject.job(ids[0]), #"{"runAt": null, "priority": 0}"#, in: subject)
            return compare("state", state, .scheduled) + compare("then", try await subject.state(ids[0]), .queued)
                + compare("order", try await subject.claim().map(\.id), [ids[1], ids[0]])
        },
        Clause("jobs that wait are put in another order, and go in it") { subject in
            let ids = try await subject.enqueue(
                "", "", #", "suspended": true"#, #", "priority": 1"#, #", "runAt": "2999-01-01T00:00:00Z""#, "")
            let (store, tenant) = (subject.store, subject.tenant)
            let before = try await store.order(ids.reversed(), of: tenant)
            // Held ones keep their places, and those that wait for a time have none.
            let wanted = [5, 2, 4, 1, 0, 3].map { ids[$0] }
            try await store.reorder(wanted, of: subject.other)
            let untouched = try await store.order(ids, of: tenant)
            try await store.reorder(wanted, of: tenant)
            let after = try await store.order(ids, of: tenant)
            return compare("before", before, [3, 0, 1, 2, 5].map { ids[$0] }) + compare("another's", untouched, before)
                + compare("after", after, [5, 2, 1, 0, 3].map { ids[$0] })
                + compare("claimed", try await subject.claim().map(\.id), [5, 1, 0, 3].map { ids[$0] })
                + compare("left", try await store.order(ids, of: tenant), [ids[2]])
        },
        Clause("what came of a job outlives a change of its labels") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.run(.make(body: .inline([1])))
            let isChanged = try await change(subject.job(id), #"{"labels": {"a": "1"}}"#, in: subject)
            let job = try await subject.job(id)
            return compare("changed", isChanged, true) + compare("state", job?.state, .succeeded)
                + compare("response", job?.response != nil, true) + compare("body", job?.body?.bytes, 1)
                + compare("end", job?.finishedAt != nil, true)
        },
        Clause("a job that waits for a time waits on when it was held meanwhile") { subject in
            let id = try await subject.enqueue(#", "runAt": "2999-01-01T00:00:00Z""#)[0]
            try await subject.store.setSuspended([id], of: subject.tenant, true)
            let held = try await subject.state(id)
            try await subject.store.setSuspended([id], of: subject.tenant, false)
            return compare("held", held, .suspended) + compare("then", try await subject.state(id), .scheduled)
                + compare("claimed", try await subject.claim().map(\.id), [])
        },
    ]

    // MARK: Ending

    private static let ending: [Clause<JobsSubject>] = [
        Clause("what is final is neither cancelled nor held") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.run(.make())
            try await subject.store.cancel([id], of: subject.tenant, .plainly)
            try await subject.store.setSuspended([id], of: subject.tenant, true)
            let job = try await subject.job(id)
            return compare("state", job?.state, .succeeded) + compare("cancelling", job?.isCancelling, false)
        },
        Clause("a final job is removed with all that there is of it, and one that is not stays") { subject in
            let ids = try await subject.enqueue("", "")
            try await subject.run(.make(body: .inline([1])))
            let removed = try await subject.store.remove(ids + [Job.ID()], of: subject.tenant)
            return compare("removed", removed, [ids[0]])
                + compare("there", try await subject.job(ids[0]) == nil, true)
                + compare("body", try await subject.store.body(of: ids[0], tenant: subject.tenant) == nil, true)
                + compare("other", try await subject.state(ids[1]), .queued)
        },
        Clause("failed and cancelled jobs run again under their ids, and no others") { subject in
            let ids = try await subject.enqueue("", "", "")
            try await subject.store.cancel([ids[1]], of: subject.tenant, .plainly)
            let first = try await subject.claim()
            _ = try await subject.queues[0].settle(first[0], .make(.failed))
            _ = try await subject.queues[0].settle(first[1], .make())
            let again = try ids.map { NewJob(id: $0, tenant: subject.tenant, spec: try .make()) }
            let redriven = try await subject.store.redrive(again)
            let job = try await subject.job(ids[0])
            let claimed = try await subject.claim()
            let isLate = try await subject.queues[0].settle(first[0], .make())
            for job in claimed where job.id == ids[0] { _ = try await subject.queues[0].settle(job, .make()) }
            let last = try await subject.job(ids[0])
            return compare("redriven", redriven, [ids[0], ids[1]]) + compare("state", job?.state, .queued)
                + compare("forgotten", job.map { $0.error == nil && $0.finishedAt == nil }, true)
                + compare("attempts", job?.attempts.map(\.number), [1])
                + compare("claims", claimed.map(\.claim).sorted(), [1, 2]) + compare("settled late", isLate, false)
                + compare("attempts then", last?.attempts.map(\.number), [1, 2])
                + compare("states", last?.attempts.map(\.state), [.failed, .succeeded])
        },
    ]
}
