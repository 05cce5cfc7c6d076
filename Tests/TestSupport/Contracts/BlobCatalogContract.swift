package import FetchJobs

/// The contract of every form of ``BlobCatalog``.
package enum BlobCatalogContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let catalog: any BlobCatalog

        package init(jobs: JobsSubject, catalog: any BlobCatalog) {
            self.jobs = jobs
            self.catalog = catalog
        }

        fileprivate var tenant: Tenant.ID { jobs.tenant }

        fileprivate func new(_ id: Blob.ID = Blob.ID(), expiresAt: Timestamp? = nil) -> Blob {
            let content = MeasuredBlob(id: id, bytes: 5, digest: SHA256Digest(of: Array("hello".utf8)))
            return Blob(tenant: tenant, content: content, contentType: "text/plain", expiresAt: expiresAt)
        }

        fileprivate func add(expiresAt: Timestamp? = nil) async throws -> Blob.ID {
            let blob = new(expiresAt: expiresAt)
            _ = try await catalog.add(blob, nil)
            return blob.id
        }

        fileprivate func addFile(_ name: String, replacing: Bool = false) async throws
            -> (id: Blob.ID, filename: String, replaced: Blob.ID?)
        {
            let blob = new()
            let (filename, replaced) = try await catalog.addFile(blob, of: nil, named: name, replacing: replacing)
            return (blob.id, filename, replaced)
        }
    }

    package static let clauses: [Clause<Subject>] = blobs + files

    private static let blobs: [Clause<Subject>] = [
        Clause("a blob is its tenant's alone") { subject in
            let (id, other) = (try await subject.add(), subject.jobs.other)
            let found = try await subject.catalog.blob(id, of: subject.tenant)
            let removed = [
                try await subject.catalog.remove(id, of: other),
                try await subject.catalog.remove(id, of: subject.tenant),
                try await subject.catalog.remove(id, of: subject.tenant),
            ]
            return compare("bytes", found?.content, subject.new(id).content)
                + compare("type", found?.contentType, "text/plain")
                + compare("another's", try await subject.catalog.blob(id, of: other) == nil, true)
                + compare("held", try await subject.catalog.hold([id], for: Job.ID(), of: other), [])
                + compare("removed", removed, [.missing, .removed, .missing])
        },
        Clause("a key makes one blob, and none once that is gone") { subject in
            let key = { Idempotency(key: "k", fingerprint: SHA256Digest(of: [$0])) }
            guard case .created(let first) = try await subject.catalog.add(subject.new(), key(1)),
                case .replayed(let again) = try await subject.catalog.add(subject.new(), key(1)),
                case .conflict = try await subject.catalog.add(subject.new(), key(2)),
                case .removed = try await subject.catalog.remove(first.id, of: subject.tenant),
                case .conflict = try await subject.catalog.add(subject.new(), key(1))
            else { return ["the key did not count"] }
            return compare("replayed", again.id, first.id)
        },
        Clause("a blob stays while a job needs it, stored or about to be") { subject in
            let (id, job) = (try await subject.add(), try NewJob.make())
            let held = try await subject.catalog.hold([id, Blob.ID()], for: job.id, of: subject.tenant)
            var removed = [try await subject.catalog.remove(id, of: subject.tenant)]
            _ = try await subject.jobs.store.enqueue([job])
            removed.append(try await subject.catalog.remove(id, of: subject.tenant))
            try await subject.jobs.run(.make())
            removed.append(try await subject.catalog.remove(id, of: subject.tenant))
            return compare("held", held, [id]) + compare("removed", removed, [.inUse, .inUse, .removed])
        },
        Clause("what has expired goes, unless it was held before") { subject in
            let old = try await subject.add(expiresAt: .now.advanced(by: .seconds(-60)))
            let soon = try await subject.add(expiresAt: .now.advanced(by: .seconds(3600)))
            let held = try await subject.catalog.hold([old, soon], for: Job.ID(), of: subject.tenant)
            let removed = [try await subject.catalog.removeExpired(), try await subject.catalog.removeExpired()]
            return compare("held", held, [soon]) + compare("removed", removed, [[old], []])
                + compare("there", try await subject.catalog.blob(soon, of: subject.tenant) != nil, true)
        },
        Clause("bytes that neither a blob nor a result names are orphans") { subject in
            let (id, stray, result) = (try await subject.add(), Blob.ID(), Blob.ID())
            try await subject.jobs.enqueue("")
            let body = MeasuredBlob(id: result, bytes: 1, digest: SHA256Digest(of: [1]))
            try await subject.jobs.run(.make(body: .blob(body)))
            return compare("orphans", try await subject.catalog.orphans(among: [id, stray, result]), [stray])
        },
    ]

    private static let files: [Clause<Subject>] = [
        Clause("a file gets a name that no other of its tenant has, and keeps it") { subject in
            let added = [
                try await subject.addFile("a.txt"), try await subject.addFile("a.txt"),
                try await subject.addFile("b.txt"),
                try await subject.addFile("a.txt"),
            ]
            let names = added.map(\.filename)
            return compare("first", names[0], "a.txt") + compare("names", Set(names).count, 4)
                + compare("kind", names.allSatisfy { $0.hasSuffix(".txt") }, true)
                + compare("replaced", added.compactMap(\.replaced), [])
        },
        Clause("a file takes another's place where it is to") { subject in
            let first = try await subject.addFile("a.txt")
            let second = try await subject.addFile("a.txt", replacing: true)
            return compare("name", second.filename, "a.txt") + compare("replaced", second.replaced, first.id)
                + compare("gone", try await subject.catalog.blob(first.id, of: subject.tenant) == nil, true)
                + compare("there", try await subject.catalog.blob(second.id, of: subject.tenant) != nil, true)
        },
        Clause("jobs that are final or gone have ended, and no others") { subject in
            let ids = try await subject.jobs.enqueue("", "")
            try await subject.jobs.run(.make())
            let gone = Job.ID()
            return compare("ended", Set(try await subject.catalog.ended(among: ids + [gone])), [ids[0], gone])
        },
    ]
}
