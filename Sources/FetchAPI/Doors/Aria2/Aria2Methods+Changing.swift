import FetchJobs

extension Aria2Methods {
    // MARK: Pausing and removing

    func setPaused(
        _ isPaused: Bool, _ arguments: Aria2Arguments, _ caller: Aria2Caller
    ) async throws -> String {
        let download = try await find(arguments, caller)
        let isFit = isPaused ? [.active, .waiting].contains(download.status) : download.status == .paused
        guard isFit else {
            throw Aria2Failure("GID#\(download.gid) cannot be \(isPaused ? "paused" : "unpaused") now")
        }
        try await jobs.setSuspended([download.job.id], of: caller.tenant, isPaused)
        return download.gid
    }

    private static let pageSize = 500
    /// How many pages one call goes through.
    private static let maximumPages = 20

    func setAllPaused(_ isPaused: Bool, _ caller: Aria2Caller) async throws -> RawJSON {
        try await each(isPaused ? [.queued, .scheduled, .running, .awaitingDecision] : [.suspended], caller) { ids in
            try await jobs.setSuspended(ids, of: caller.tenant, isPaused)
        }
        return .ok
    }

    /// Does something with all downloads in some states, page by page.
    private func each(
        _ states: Set<JobState>, _ caller: Aria2Caller, _ act: ([Job.ID]) async throws -> Void
    ) async throws {
        var last: Job.ID?
        for _ in 0..<Self.maximumPages {
            try Task.checkCancellation()
            let page = try await jobs.jobs(
                of: caller.tenant, matching: Self.filter(states), page: JobPage(limit: Self.pageSize, after: last))
            if !page.isEmpty { try await act(page.map(\.id)) }
            last = page.rest
            guard last != nil else { return }
        }
    }

    func remove(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> String {
        let download = try await find(arguments, caller)
        guard !download.job.state.isFinal else {
            throw Aria2Failure("Active Download not found for GID#\(download.gid)")
        }
        try await jobs.cancel([download.job.id], of: caller.tenant, .plainly)
        return download.gid
    }

    /// The job stays, and is no download any more.
    func removeResult(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        let download = try await find(arguments, caller)
        guard download.job.state.isFinal, try await hide(download, caller) else {
            throw Aria2Failure("Could not remove download result of GID#\(download.gid)")
        }
        return .ok
    }

    func purge(_ caller: Aria2Caller) async throws -> RawJSON {
        try await each(Aria2Download.stoppedStates, caller) { ids in
            for start in stride(from: 0, to: ids.count, by: Self.groupSize) {
                let group = Array(ids[start..<min(start + Self.groupSize, ids.count)])
                for download in try await downloads(group, caller) { _ = try await hide(download, caller) }
            }
        }
        return .ok
    }

    private func hide(_ download: Aria2Download, _ caller: Aria2Caller) async throws -> Bool {
        var change = JobChange()
        change.labels = [(Aria2Download.removedLabel.name, Aria2Download.removedLabel.value)]
        return try await jobs.change(
            download.job.id, of: caller.tenant, from: download.job.spec, to: change.applied(to: download.spec), change)
    }

    // MARK: Options

    func changeOption(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        let download = try await find(arguments, caller)
        guard !download.job.state.isFinal else {
            throw Aria2Failure("Cannot change option for GID#\(download.gid)")
        }
        let (spec, change) = try arguments.options(1).changed(download.spec)
        guard spec != download.spec else { return .ok }
        guard
            try await jobs.change(download.job.id, of: caller.tenant, from: download.job.spec, to: spec, change)
        else { throw Aria2Failure("GID#\(download.gid) was changed just now: try again") }
        return .ok
    }

    /// Takes URIs out of the list of a download and puts others in; each that is named goes once.
    func changeURIs(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        _ = try arguments.text(0)
        let index = try arguments.integer(1, from: 1)
        let (removed, added) = (try arguments.list(2).compactMap(\.text), try arguments.list(3).compactMap(\.text))
        let position = try arguments.optionalPosition(4)
        let download = try await find(arguments, caller)
        guard index == 1 else { throw Aria2Failure("fileIndex is out of range") }
        guard [.waiting, .paused].contains(download.status) else {
            throw download.job.state.isFinal
                ? Aria2Failure("Cannot remove URIs from GID#\(download.gid)")
                : .notSupported("A change of the URIs of an active download")
        }
        var uris = download.spec.request.urls.map { "\($0)" }
        let count = uris.count
        // No URL has such a run of marks as makes comparing slow.
        for uri in removed where uri.isStreamSafe {
            // As the service writes it, or as the client did.
            let written = JobRequest.standardForm(ofURL: uri)
            if let place = uris.firstIndex(where: { $0 == uri || $0 == written }) { uris.remove(at: place) }
        }
        let left = uris.count
        uris.insert(contentsOf: try Self.loaded(added), at: min(Int(clamping: position ?? .max), left))
        let changed = (removed: count - left, added: uris.count - left)
        if changed != (0, 0) { try await set(uris, of: download, caller) }
        return .array { writer in
            writer.value(Int64(changed.removed))
            writer.value(Int64(changed.added))
        }
    }

    private func set(_ uris: [String], of download: Aria2Download, _ caller: Aria2Caller) async throws {
        guard let first = uris.first else { throw Aria2Failure.notSupported("A download without a URI") }
        _ = try Self.loaded(uris)
        // Read as a new download would be, so that the same rules hold.
        let asked = try JobSpec(json: .object(try Aria2Options().job(loading: first, mirrors: Array(uris.dropFirst()))))
        let own = download.spec
        if !asked.request.isOfSameOrigin(as: own.request),
            own.request.hasSensitiveFields || own.configuration.authentication.credential != nil
        {
            throw Aria2Failure.notSupported("Another server as the first of a download with a password or credentials")
        }
        guard asked.configuration.authentication.credential == nil else {
            throw Aria2Failure.notSupported("A password in a URI that is added later")
        }
        var change = JobChange()
        change.urls = asked.request.urls
        var spec = try change.applied(to: own)
        try caller.key.bind(&spec)
        _ = try await sessions.job(spec, of: caller.tenant, idempotency: nil)
        guard
            try await jobs.change(download.job.id, of: caller.tenant, from: download.job.spec, to: spec, change)
        else { throw Aria2Failure("GID#\(download.gid) was changed just now: try again") }
    }

    private func flow(_ caller: Aria2Caller) -> Limiter.Address {
        Limiter.Address(tenant: caller.tenant, kind: .flow, key: Aria2Download.flow)
    }

    func globalOption(_ caller: Aria2Caller) async throws -> RawJSON {
        let limits = try await limiters.limiter(flow(caller))?.limits
        var options = Aria2Options.ofDownloads.merging(Aria2Options.global) { first, _ in first }
            .compactMapValues(\.standard)
        if let limit = limits?.parallelism { options["max-concurrent-downloads"] = "\(limit)" }
        if let limit = limits?.maximumBytesPerSecond { options["max-overall-download-limit"] = "\(limit)" }
        return .object { writer in
            for (name, value) in options.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
        }
    }

    func changeGlobalOption(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        let options = try arguments.options(0)
        let parallelism = options.integer("max-concurrent-downloads").map { Int($0) }
        let speed = try options.limit("max-overall-download-limit")
        guard parallelism != nil || speed != nil else { return .ok }
        let address = flow(caller)
        var limits = try await limiters.limiter(address)?.limits ?? SharedLimits()
        if let parallelism {
            limits.parallelism = parallelism
            limits.order = .any
            limits.onFailure = .skip
        }
        if let speed { limits.maximumBytesPerSecond = speed == 0 ? nil : speed }
        try await limiters.set(limits, of: address)
        return .ok
    }
}
