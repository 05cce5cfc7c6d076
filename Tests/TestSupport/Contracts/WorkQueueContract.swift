import FetchJobs

/// The contract of every form of ``WorkQueue``, with the jobs of a ``JobStore``.
package enum WorkQueueContract {
    package static let clauses: [Clause<JobsSubject>] = claiming + ending + asking + losing + times

    // MARK: Claiming

    private static let claiming: [Clause<JobsSubject>] = [
        Clause("a job is claimed once, under the next number, and runs from then on") { subject in
            let id = try await subject.enqueue("")[0]
            let before = try await subject.state(id)
            let claimed = try await subject.claim(0)
            return compare("before", before, .queued)
                + compare("claimed", claimed.map(\.id), [id]) + compare("number", claimed.map(\.claim), [1])
                + compare("again", try await subject.claim(1).map(\.id), [])
                + compare("then", try await subject.state(id), .running)
        },
        Clause("the more urgent are claimed first, and of equals the older") { subject in
            let ids = try await subject.enqueue(#", "priority": 0.2"#, "", #", "priority": 0.9"#, "")
            return compare(
                "order", try await subject.claim().map(\.id), [ids[2], ids[1], ids[3], ids[0]])
        },
        Clause("a claim takes of a tenant what there is room for, and says that it has more") { subject in
            try await subject.enqueue("", "", "")
            var room = ClaimRoom()
            room.ofTenants[subject.tenant] = 2
            let claim = try await subject.queues[0].claim(upTo: 10, room: room)
            return compare("jobs", claim.jobs.count, 2) + compare("full", claim.full, [subject.tenant])
        },
        Clause("a job that was given back is claimed again, and its first claim is worth nothing") { subject in
            let id = try await subject.enqueue("")[0]
            let first = try await subject.claim(0)
            try await subject.queues[0].release(first)
            let between = try await subject.state(id)
            let second = try await subject.claim(1)
            let isLate = try await subject.queues[0].settle(first[0], .make())
            return compare("between", between, .queued) + compare("numbers", second.map(\.claim), [2])
                + compare("settled late", isLate, false) + compare("state", try await subject.state(id), .running)
        },
        Clause("a job that is given back while it is being cancelled is cancelled, and not claimed again") { subject in
            let ids = try await subject.enqueue("", "", "", method: "POST")
            let claimed = try await subject.claim(0)
            _ = try await subject.queues[0].begin(claimed[1])
            try await subject.store.cancel([ids[0]], of: subject.tenant, .plainly)
            try await subject.store.cancel([ids[1]], of: subject.tenant, .keepingPartial)
            let gone = try await subject.queues[0].release(claimed)
            var states: [JobState?] = []
            for id in ids { states.append(try await subject.state(id)) }
            return compare("gone", gone, Set(ids)) + compare("states", states, [.cancelled, .cancelled, .queued])
                + compare("claimed", try await subject.claim(1).map(\.id), [ids[2]])
                + compare("settled late", try await subject.queues[0].settle(claimed[1], .make()), false)
        },
    ]

    // MARK: Ending

    private static let ending: [Clause<JobsSubject>] = [
        Clause("what came of a job is stored once, with its attempt and its body") { subject in
            let id = try await subject.enqueue("")[0]
            let claimed = try await subject.claim()[0]
            let settled = try await subject.queues[0].settle(claimed, .make(body: .inline(Array("hello".utf8))))
            let again = try await subject.queues[0].settle(claimed, .make(.failed))
            let job = try await subject.job(id)
            return compare("settled", [settled, again], [true, false]) + compare("state", job?.state, .succeeded)
                + compare("attempts", job?.attempts.map(\.number), [1])
                + compare("body", try await subject.store.body(of: id, tenant: subject.tenant)?.bytes, 5)
        },
        Clause("a body has its size and its digest, however long it is") { subject in
            var faults: [String] = []
            for count in [0, 1, 4096, 4097, 65_536] {
                let body = [UInt8](repeating: 7, count: count)
                let id = try await subject.enqueue("")[0]
                let claimed = try await subject.claim()[0]
                _ = try await subject.queues[0].settle(claimed, .make(body: .inline(body)))
                let (job, stored) = (
                    try await subject.job(id), try await subject.store.body(of: id, tenant: subject.tenant)
                )
                let digest = SHA256Digest(of: body)
                faults += compare("job's bytes", job?.body?.bytes, Int64(count))
                faults += compare("job's digest", job?.body?.digest, digest)
                faults += compare("bytes", stored?.bytes, Int64(count)) + compare("digest", stored?.digest, digest)
            }
            return faults
        },
        Clause("a job that another attempt follows waits for its time, and counts its tries") { subject in
            let id = try await subject.enqueue("")[0]
            let first = try await subject.claim()[0]
            let waits = try await subject.queues[0].retry(first, .make(.failed), after: .seconds(50))
            let (state, early) = (try await subject.state(id), try await subject.claim())
            try await subject.letPass(.seconds(60))
            let promoted = try await subject.queues[1].promote().hasQueuedJobs
            let second = try await subject.claim(1)
            return compare("waits", waits, true) + compare("state", state, .scheduled)
                + compare("early", early.count, 0) + compare("promoted", promoted, true)
                + compare("tries", second.map(\.tries), [1]) + compare("number", second.map(\.claim), [2])
                + compare("attempts", try await subject.job(id)?.attempts.map(\.errorName), ["timedOut"])
        },
        Clause("callbacks are stored with the end of an attempt, and not without it") { subject in
            func telling(_ outcome: JobOutcome) throws -> JobOutcome {
                var outcome = outcome
                outcome.callbacks = [try NewJob.make(more: #", "labels": {"a": "b"}"#)]
                return outcome
            }
            let id = try await subject.enqueue("")[0]
            let first = try await subject.claim()[0]
            let (retried, settled) = (try telling(.make(.failed)), try telling(.make()))
            let waits = try await subject.queues[0].retry(first, retried, after: .zero)
            let fenced = try await subject.queues[0].settle(first, try telling(.make(.failed)))
            _ = try await subject.queues[0].promote()
            let claims = try await subject.claim()
            let second = claims.first { $0.id == id }
            let ended = if let second { try await subject.queues[0].settle(second, settled) } else { false }
            var labelled = JobFilter()
            labelled.labels = [JobSpec.Label(name: "a", value: "b")]
            let found = try await subject.store.jobs(
                of: subject.tenant, matching: labelled, page: JobPage(limit: 10))
            let last = try await subject.claim()
            return compare("stored", [waits, fenced, ended], [true, false, true])
                + compare("claimed", claims.map(\.id).filter { $0 != id }, retried.callbacks.map(\.id))
                + compare("claimed at last", last.map(\.id), settled.callbacks.map(\.id))
                + compare("found", Set(found.map(\.id)), Set((retried.callbacks + settled.callbacks).map(\.id)))
        },
        Clause("no other attempt follows when the job is being cancelled") { subject in
            let id = try await subject.enqueue("")[0]
            let claimed = try await subject.claim()[0]
            try await subject.store.cancel([id], of: subject.tenant, .plainly)
            let waits = try await subject.queues[0].retry(claimed, .make(.failed), after: .zero)
            return compare("waits", waits, false) + compare("state", try await subject.state(id), .running)
        },
        Clause("a request that is about to be sent is committed by whoever has the job, and by nobody else") {
            subject in
            try await subject.enqueue("", method: "POST")
            let claimed = try await subject.claim(0)[0]
            return compare("owner", try await subject.queues[0].begin(claimed), true)
                + compare("another", try await subject.queues[1].begin(claimed), false)
        },
    ]

    // MARK: Requests of clients

    private static let asking: [Clause<JobsSubject>] = [
        Clause("a job that waits is cancelled at once, and not claimed") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.store.cancel([id], of: subject.tenant, .plainly)
            return compare("state", try await subject.state(id), .cancelled)
                + compare("claimed", try await subject.claim().count, 0)
        },
        Clause("the node that runs a cancelled job is told, and what it is to keep") { subject in
            let ids = try await subject.enqueue("", "")
            _ = try await subject.claim(1)
            try await subject.store.cancel([ids[0]], of: subject.tenant, .plainly)
            try await subject.store.cancel([ids[1]], of: subject.tenant, .keepingPartial)
            let own = try await subject.queues[1].heartbeat()
            return compare("another", try await subject.queues[0].heartbeat().cancelled, [])
                + compare("own", Set(own.cancelled), Set(ids)) + compare("kept", own.keepingPartial, [ids[1]])
                + compare("asked", try await subject.job(ids[0])?.isCancelling, true)
        },
        Clause("a suspended job is not claimed until it is resumed") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.store.setSuspended([id], of: subject.tenant, true)
            let (state, held) = (try await subject.state(id), try await subject.claim().count)
            try await subject.store.setSuspended([id], of: subject.tenant, false)
            return compare("state", state, .suspended) + compare("held", held, 0)
                + compare("resumed", try await subject.claim().map(\.id), [id])
        },
        Clause("the node that runs a suspended job is told, and runs it on when it is resumed") { subject in
            let id = try await subject.enqueue("")[0]
            _ = try await subject.claim(0)
            try await subject.store.setSuspended([id], of: subject.tenant, true)
            let (state, held) = (
                try await subject.state(id), try await subject.queues[0].heartbeat().suspended
            )
            try await subject.store.setSuspended([id], of: subject.tenant, false)
            return compare("state", state, .suspended) + compare("held", held, [id])
                + compare("then", try await subject.queues[0].heartbeat().suspended, [])
                + compare("runs on", try await subject.state(id), .running)
        },
    ]

    // MARK: Jobs that are lost

    private static let losing: [Clause<JobsSubject>] = [
        Clause("the jobs of a node whose lease has run out are claimed by others, and it writes nothing more") {
            subject in
            let id = try await subject.enqueue("")[0]
            _ = try await subject.queues[1].heartbeat()
            let lost = try await subject.claim(1)[0]
            try await subject.lose(1)
            let count = try await subject.queues[0].rescue().count
            let claimed = try await subject.claim(0)
            return compare("rescued", count, 1) + compare("numbers", claimed.map(\.claim), [2])
                + compare("settled late", try await subject.queues[1].settle(lost, .make()), false)
                + compare("begun late", try await subject.queues[1].begin(lost), false)
                + compare("attempts", try await subject.job(id)?.attempts.map(\.errorName), ["networkConnectionLost"])
                + compare("lease", try await subject.queues[1].heartbeat().leaseWasLost, true)
        },
        Clause("a node that leaves gives its lease back, and others take at once what it still has") { subject in
            _ = try await subject.enqueue("")
            _ = try await subject.queues[1].heartbeat()
            _ = try await subject.claim(1)
            try await subject.queues[1].leave()
            return compare("rescued", try await subject.queues[0].rescue().count, 1)
                + compare("lease", try await subject.queues[1].heartbeat().leaseWasLost, true)
        },
        Clause("a lost job whose request may have left ends, and one that is being cancelled is cancelled") { subject in
            let ids = try await subject.enqueue("", "", method: "POST")
            _ = try await subject.queues[1].heartbeat()
            let lost = try await subject.claim(1)
            _ = try await subject.queues[1].begin(lost[0])
            try await subject.store.cancel([ids[1]], of: subject.tenant, .plainly)
            try await subject.lose(1)
            _ = try await subject.queues[0].rescue()
            return compare("begun", try await subject.state(ids[0]), .failed)
                + compare("cancelled", try await subject.state(ids[1]), .cancelled)
        },
        Clause("what a node has without running it goes back, but for what it sent nothing of and what came just now") {
            subject in
            let ids = try await subject.enqueue("", "", "", method: "POST")
            let claimed = try await subject.claim(0)
            for job in claimed.dropFirst() { _ = try await subject.queues[0].begin(job) }
            let early = try await subject.queues[0].reconcile(except: [], unsent: [])
            try await subject.letPass(.seconds(10))
            let count = try await subject.queues[0].reconcile(except: [ids[0]], unsent: [claimed[1]])
            var states: [JobState?] = []
            for id in ids { states.append(try await subject.state(id)) }
            return compare("early", early, 0) + compare("count", count, 2)
                + compare("states", states, [.running, .queued, .failed])
        },
        Clause("a job that was lost twice is left to trials, in groups that become smaller") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.lose(id, times: 2)
            let (claimed, first) = (try await subject.claim(0).count, try await subject.queues[0].nextTrial())
            let hasSuspects = try await subject.queues[0].heartbeat().hasSuspects
            _ = try await subject.queues[1].heartbeat()
            let tried = try await subject.queues[1].claimSuspects(16)
            let held = try await subject.queues[1].beginTrial(tried, isAlone: false)
            try await subject.lose(1)
            _ = try await subject.queues[0].rescue()
            return compare("claimed", claimed, 0) + compare("first", first, 16) + compare("told", hasSuspects, true)
                + compare("tried", held, [id]) + compare("next", try await subject.queues[0].nextTrial(), 1)
                + compare("state", try await subject.state(id), .queued)
        },
        Clause("a job that takes down its node alone three times ends") { subject in
            let id = try await subject.enqueue("")[0]
            try await subject.lose(id, times: 2)
            for company in [16, 1, 1] {
                _ = try await subject.queues[1].heartbeat()
                let tried = try await subject.queues[1].claimSuspects(company)
                _ = try await subject.queues[1].beginTrial(tried, isAlone: true)
                try await subject.lose(1)
                _ = try await subject.queues[0].rescue()
            }
            let job = try await subject.job(id)
            return compare("state", job?.state, .failed)
                + compare("error", job?.error.map { $0.text.contains("workerCrashed") }, true)
        },
    ]

    // MARK: Times

    private static let times: [Clause<JobsSubject>] = [
        Clause("a job with a time of its own waits for it") { subject in
            let id = try await subject.enqueue(#", "runAt": "\#(Timestamp.now.advanced(by: .seconds(50)))""#)[0]
            let (state, early) = (try await subject.state(id), try await subject.claim().count)
            let next = try await subject.queues[0].promote().next
            try await subject.letPass(.seconds(60))
            _ = try await subject.queues[0].promote()
            return compare("state", state, .scheduled) + compare("early", early, 0)
                + compare("next", next.map { $0 > .seconds(30) && $0 <= .seconds(50) }, true)
                + compare("then", try await subject.claim().map(\.id), [id])
        },
        Clause("a job that waits for too long fails") { subject in
            let id = try await subject.enqueue(#", "expiresAt": "\#(Timestamp.now.advanced(by: .seconds(50)))""#)[0]
            let early = try await subject.queues[0].promote().hasEndedJobs
            try await subject.letPass(.seconds(60))
            let ended = try await subject.queues[0].promote().hasEndedJobs
            let job = try await subject.job(id)
            return compare("early", early, false) + compare("ended", ended, true)
                + compare("state", job?.state, .failed)
                + compare("error", job?.error.map { $0.text.contains("timedOut") }, true)
        },
        Clause("the age of the oldest job that waits is known, and of none when none waits") { subject in
            let none = try await subject.queues[0].oldestDueAge()
            try await subject.enqueue("")
            try await subject.letPass(.seconds(60))
            let age = try await subject.queues[0].oldestDueAge()
            return compare("none", none, nil)
                + compare("age", age.map { $0 >= .seconds(60) && $0 < .seconds(600) }, true)
        },
        Clause("jobs are removed that have been final for long enough, and no others") { subject in
            // Ids tell when jobs were stored.
            let past = Timestamp.now.advanced(by: .seconds(-60))
            let old = [Job.ID(earliestAt: past), Job.ID(earliestAt: past.advanced(by: .seconds(1)))]
            let spec = try JobSpec.make()
            _ = try await subject.store.enqueue(old.map { NewJob(id: $0, tenant: subject.tenant, spec: spec) })
            let claimed = try await subject.claim(limit: 1)
            _ = try await subject.queues[0].settle(claimed[0], .make())
            try await subject.letPass(.seconds(60))
            let new = try await subject.enqueue("")
            try await subject.store.cancel(new, of: subject.tenant, .plainly)
            let removed = try await subject.queues[0].removeFinal(after: .seconds(30))
            var states: [JobState?] = []
            for id in old + new { states.append(try await subject.state(id)) }
            return compare("removed", removed, 1) + compare("states", states, [nil, .queued, .cancelled])
        },
    ]
}
