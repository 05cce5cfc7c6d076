import FetchJobs
import FetchRuntime

/// Does what calls ask for, on the jobs of their tenant.
struct Aria2Methods: Sendable {
    /// Of one answer.
    private static let maximumCount: Int64 = 1000
    private static let maximumOffset: Int64 = 10_000
    /// How many jobs are read at once.
    static let groupSize = 100
    static let maximumURIs = 1 + JobRequest.maximumMirrors
    /// Which program its clients take it for.
    static let version = "1.36.0"

    let jobs: any JobStore
    let keys: any KeyStore
    let sessions: KnownSessions
    let limiters: any LimiterStore
    let live: LiveJobs
    let submitted: Counter

    func run(_ method: Aria2Method, _ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        if let refusal = method.refusal { throw refusal }
        switch method {
        case .addUri: return .text(try await add(arguments, caller))
        case .remove, .forceRemove: return .text(try await remove(arguments, caller))
        case .pause, .forcePause: return .text(try await setPaused(true, arguments, caller))
        case .unpause: return .text(try await setPaused(false, arguments, caller))
        case .pauseAll, .forcePauseAll: return try await setAllPaused(true, caller)
        case .unpauseAll: return try await setAllPaused(false, caller)
        case .changePosition: return try await changePosition(arguments, caller)
        case .tellStatus:
            let keys = try arguments.keys(1)
            let download = try await find(arguments, caller)
            return .object { download.write(&$0, keys: keys, progress: progress(of: download)) }
        case .tellActive:
            return try await list(
                Aria2Download.activeStates, from: 0, count: Self.maximumCount, keys: arguments.keys(0), caller)
        case .tellWaiting: return try await list(Aria2Download.waitingStates, arguments, caller)
        case .tellStopped: return try await list(Aria2Download.stoppedStates, arguments, caller)
        case .getUris: return .array(try await find(arguments, caller).writeURIs)
        case .getFiles:
            let download = try await find(arguments, caller)
            return .array { download.writeFiles(&$0, progress(of: download)) }
        case .getServers:
            let download = try await find(arguments, caller)
            guard download.status == .active else {
                throw Aria2Failure("No active download for GID#\(download.gid)")
            }
            return .array { download.writeServers(&$0, progress(of: download)) }
        case .getPeers:
            _ = try await find(arguments, caller)
            return .array { _ in }
        case .getOption: return .object(try await find(arguments, caller).writeOptions)
        case .changeOption: return try await changeOption(arguments, caller)
        case .changeUri: return try await changeURIs(arguments, caller)
        case .getGlobalOption: return try await globalOption(caller)
        case .changeGlobalOption: return try await changeGlobalOption(arguments, caller)
        case .removeDownloadResult: return try await removeResult(arguments, caller)
        case .purgeDownloadResult: return try await purge(caller)
        case .getGlobalStat: return try await statistics(caller)
        case .getVersion:
            return .object { writer in
                writer.member("enabledFeatures", array: { $0.value("HTTPS") })
                writer.member("version", Self.version)
            }
        case .getSessionInfo:
            // The same as long as the tenant is there, as its downloads are.
            let digest = SHA256Digest(of: Array("aria2 \(caller.tenant)".utf8))
            return .object { $0.member("sessionId", digest.hexadecimal(20)) }
        case .saveSession: return .ok
        case .addTorrent, .addMetalink, .shutdown, .forceShutdown, .listMethods,
            .listNotifications:
            throw Aria2Failure.noMethod(method.rawValue)
        }
    }

    // MARK: Finding

    /// The download that the first parameter names.
    func find(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> Aria2Download {
        let text = try arguments.text(0)
        let found = try await downloads(Aria2GID(text), caller)
        guard let download = found.first else { throw Aria2Failure.notFound(text) }
        guard found.count == 1 else { throw Aria2Failure.notUnique(text) }
        return download
    }

    func downloads(_ gid: Aria2GID, _ caller: Aria2Caller) async throws -> [Aria2Download] {
        let found = try await downloads(named(gid, caller), caller)
        return found.filter { $0.gid.hasPrefix(gid.text) }
    }

    /// The jobs that a gid may name, whoever may see them.
    func named(_ gid: Aria2GID, _ caller: Aria2Caller) async throws -> [Job.ID] {
        var filter = JobFilter()
        filter.labels = [Aria2Download.label, gid.label]
        let limit = gid.isWhole ? 1 : Self.groupSize
        return try await jobs.jobs(of: caller.tenant, matching: filter, page: JobPage(limit: limit)).map(\.id)
    }

    /// Those of some jobs that are downloads within the bounds of the key, in the order of their ids here.
    func downloads(_ ids: [Job.ID], _ caller: Aria2Caller) async throws -> [Aria2Download] {
        guard !ids.isEmpty else { return [] }
        let found = try await jobs.jobs([caller.tenant: Set(ids)])
        let byID = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
        return ids.compactMap { byID[$0] }.filter(caller.key.spec.covers).compactMap { Aria2Download($0) }
    }

    private func progress(of download: Aria2Download) -> JobProgress? {
        live.job(download.job.id, of: download.job.tenant)?.progress
    }

    // MARK: Lists

    private func list(
        _ states: Set<JobState>, _ arguments: Aria2Arguments, _ caller: Aria2Caller
    ) async throws -> RawJSON {
        let offset = try arguments.integer(0)
        let count = try arguments.integer(1, from: 0)
        return try await list(states, from: offset, count: count, keys: arguments.keys(2), caller)
    }

    /// Downloads by age, the oldest first, and those that wait in the order in which they begin; from a negative offset
    /// backwards, where -1 is the last one.
    private func list(
        _ states: Set<JobState>, from offset: Int64, count: Int64, keys: Set<String>?, _ caller: Aria2Caller
    ) async throws -> RawJSON {
        guard (-Self.maximumOffset...Self.maximumOffset).contains(offset) else {
            throw Aria2Failure("The offset must be from -\(Self.maximumOffset) to \(Self.maximumOffset).")
        }
        let (isBackward, count) = (offset < 0, Int(min(count, Self.maximumCount)))
        let skipped = Int(isBackward ? -offset - 1 : offset)
        guard count > 0 else { return .array { _ in } }
        let found: [Job.ID]
        if states == Aria2Download.waitingStates {
            found = try await waiting(atLeast: skipped + count, isBackward: isBackward, caller)
        } else {
            let page = JobPage(limit: skipped + count, at: isBackward ? .start : .before(.first))
            let newest = try await jobs.jobs(of: caller.tenant, matching: Self.filter(states), page: page).map(\.id)
            found = isBackward ? newest : newest.reversed()
        }
        let ids = Array(found.dropFirst(skipped).prefix(count))
        // The room is looked at between groups, so that memory has one of them more at most.
        var elements: [RawJSON] = []
        var length = 0
        for start in stride(from: 0, to: ids.count, by: Self.groupSize) {
            try Task.checkCancellation()
            let group = Array(ids[start..<min(start + Self.groupSize, ids.count)])
            for download in try await downloads(group, caller) {
                let element = RawJSON(
                    JSONWriter.object { download.write(&$0, keys: keys, progress: progress(of: download)) })
                elements.append(element)
                length += element.bytes.count
            }
            guard length <= caller.room else { throw Aria2Failure.answerTooLong }
        }
        return .array { writer in for element in elements { writer.raw(element) } }
    }

    static func filter(_ states: Set<JobState>) -> JobFilter {
        var filter = JobFilter()
        filter.labels = [Aria2Download.label]
        filter.states = states
        return filter
    }

    private func statistics(_ caller: Aria2Caller) async throws -> RawJSON {
        let limit = Int(Self.maximumCount)
        let active = try await jobs.jobs(
            of: caller.tenant, matching: Self.filter(Aria2Download.activeStates), page: JobPage(limit: limit))
        func count(_ states: Set<JobState>) async throws -> Int {
            try await jobs.count(of: caller.tenant, matching: Self.filter(states), limit: limit).number
        }
        let (waiting, stopped) = try await (count(Aria2Download.waitingStates), count(Aria2Download.stoppedStates))
        let speed = active.reduce(0.0) { speed, job in
            speed + (live.job(job.id, of: caller.tenant)?.progress?.bytesPerSecond ?? 0)
        }
        return .object { writer in
            writer.member("downloadSpeed", "\(Int64(speed.rounded()))")
            writer.member("numActive", "\(active.count)")
            writer.member("numStopped", "\(stopped)")
            writer.member("numStoppedTotal", "\(stopped)")
            writer.member("numWaiting", "\(waiting)")
            writer.member("uploadSpeed", "0")
        }
    }
}

extension Job.ID {
    /// Before all that there are.
    static var first: Self { Self(earliestAt: Timestamp(microseconds: 0)) }
}

extension RawJSON {
    static let ok = text("OK")

    static func text(_ text: String) -> Self {
        var writer = JSONWriter()
        writer.value(text)
        return Self(writer.bytes)
    }

    static func object(_ members: (inout JSONWriter) -> Void) -> Self { Self(JSONWriter.object(members)) }
}
