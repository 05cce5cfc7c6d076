import FetchEngine
import FetchJobs
import FetchRuntime

/// One attempt of a download: from where an earlier one stopped, to a file in the blob store.
///
/// An object, so that the frames of loads have a reference. What comes before a wait for the load, and after it, is not
/// inlined, since the frame that waits would have room for it.
final class DownloadRun: Sendable {
    let load: PreparedLoad
    let blobs: any BlobStore
    let catalog: any BlobCatalog
    let area: any DownloadArea
    let stop: StopSwitch

    init(
        load: PreparedLoad, blobs: any BlobStore, catalog: any BlobCatalog, area: any DownloadArea, stop: StopSwitch
    ) {
        self.load = load
        self.blobs = blobs
        self.catalog = catalog
        self.area = area
        self.stop = stop
    }

    private var job: ClaimedJob { load.job }
    private var live: LiveJob { load.live }

    /// Never throws: a failure is an outcome.
    func run() async -> SharedOutcome {
        let start = Timestamp.now
        let watch = watch()
        let (task, lock): (DownloadTask, (any Sendable)?)
        do throws(StoreError) { (task, lock) = try await begin(watch) } catch {
            return failed(toBegin: error, startedAt: start)
        }
        return await finish(task, watch, holding: lock, startedAt: start)
    }

    /// The task, and what keeps its place.
    @inline(never)
    private func begin(_ watch: DownloadWatch) async throws(StoreError) -> (DownloadTask, (any Sendable)?) {
        let place = try await place()
        return (try await task(watch, in: place), place.lock)
    }

    /// The place of the job; an attempt that is stopped does not wait for a descriptor for it.
    @inline(never)
    private func place() async throws(StoreError) -> DownloadPlace {
        try await area.open(job.id) { [stop] in stop.reason == nil }
    }

    @inline(never)
    private func failed(toBegin error: StoreError, startedAt start: Timestamp) -> SharedOutcome {
        SharedOutcome(failing: stop.judged(LoadError(error)), startedAt: start)
    }

    // MARK: Going on for a data task

    /// Follows the load, and begins before it becomes a download where that is needed.
    ///
    /// - Parameter rule: Which responses are reason to become one.
    @inline(never)
    func watch(asking rule: FetchJobs.Configuration.BecomeDownload? = nil) -> DownloadWatch {
        DownloadWatch(
            live: live, area: area, answerer: load.answerer, decisions: load.decisions, decoded: decodedMediaTypes,
            rule: rule)
    }

    /// Whether an earlier attempt has left a file to go on with.
    func hasPartialFile() async -> Bool {
        // A file that cannot be read counts as none: the load begins anew.
        (try? await place())?.resumeData != nil
    }

    /// Takes over from a task that has its response and not its body (LIF-7).
    func goOn(for data: DataTask, _ watch: DownloadWatch, startedAt start: Timestamp) async -> SharedOutcome {
        let place: DownloadPlace
        do throws(StoreError) { place = try await self.place() } catch {
            data.cancel()
            return failed(toBegin: error, startedAt: start)
        }
        let task = data.becomeDownload(options: options(in: place))
        live.noteResponse()
        live.note(.becameDownload) { writer in
            writer.member("mimeType", data.response?.mimeType)
            writer.member("bytesExpectedToReceive", data.response?.expectedContentLength)
        }
        return await finish(task, watch, holding: place.lock, startedAt: start)
    }

    /// - Parameter lock: The place is the attempt's as long as this takes.
    @inline(never)
    private func finish(
        _ task: DownloadTask,
        _ watch: DownloadWatch,
        holding lock: (any Sendable)?,
        startedAt start: Timestamp
    ) async -> SharedOutcome {
        defer { withExtendedLifetime(lock) {} }
        load.prepare(task, stop)
        let urls = live.urls
        live.attach {
            JobProgress(download: task)
        } steps: {
            task.steps
        } response: {
            task.response?.eventData(urls)
        }
        do throws(LoadError) {
            return try await received(try await receive(task, watch), by: task, watch, startedAt: start)
        } catch {
            return await failed(stop.judged(error), task, startedAt: start)
        }
    }

    // MARK: Loading

    @inline(never)
    private func task(
        _ watch: DownloadWatch, in place: DownloadPlace
    ) async throws(StoreError) -> DownloadTask {
        let room = try await room()
        return task(watch, in: place, continuing: try await resumeData(of: place), room: room)
    }

    @inline(never)
    private func task(
        _ watch: DownloadWatch, in place: DownloadPlace, continuing data: ResumeData?, room: Int64?
    ) -> DownloadTask {
        let (options, configuration) = (options(in: place), configuration(within: room))
        guard let data else {
            return load.session.downloadTask(
                with: load.request, options: options, sharing: configuration, delegate: watch)
        }
        return load.session.downloadTask(
            withResumeData: data, request: load.request, options: options, sharing: configuration, delegate: watch)
    }

    /// How many bytes the tenant has room for; nil for any number.
    ///
    /// - Throws: `overQuota` when there is room for none: nothing is loaded then.
    private func room() async throws(StoreError) -> Int64? {
        guard let room = try await catalog.room(of: job.tenant) else { return nil }
        guard room.left > 0 else {
            throw StoreError(.overQuota, "The tenant has as many bytes stored as it may, which is \(room.maximum).")
        }
        return room.left
    }

    /// The configuration of the load, which takes no more bytes than there is room for.
    private func configuration(within room: Int64?) -> SharedConfiguration? {
        guard let room else { return load.configuration }
        let shared = load.configuration ?? load.session.shared
        var configuration = shared.value
        configuration.maximumResponseBytes = min(configuration.maximumResponseBytes ?? .max, room)
        return SharedConfiguration(configuration, from: shared)
    }

    /// The formats that are decoded as the configuration says.
    private var decodedMediaTypes: Set<String> {
        Set((load.settings.response.decode ?? []).flatMap { $0.decoder.mediaTypes })
    }

    private func options(in place: DownloadPlace) -> DownloadOptions {
        var options = DownloadOptions()
        options.temporaryDirectory = place.directory
        // The file of a failed download is kept or removed here.
        options.deletesFileUponFailure = false
        // The delegate or the rules are asked, also about types that the configuration has decoded.
        if load.decisions?.asks(.shouldDecodeSourceData) != true { options.decodedMediaTypes = decodedMediaTypes }
        options.expectedDigest = load.settings.destination.checksum
        options.hashesFile = true
        options.resumesAcrossURLs = !job.spec.request.mirrors.isEmpty
        return options
    }

    /// The data that an earlier attempt has left here, or an earlier job in the blob store.
    private func resumeData(of place: DownloadPlace) async throws(StoreError) -> ResumeData? {
        if let data = place.resumeData { return data }
        guard let id = job.spec.resumeFrom, let partial = try await catalog.partial(id, of: job.tenant) else {
            return nil
        }
        let reader = try await blobs.open(id, range: 0..<partial.byteCount)
        return try await area.restore(partial, from: reader, for: job.id)
    }

    /// Loads the file, and writes checkpoints meanwhile.
    private func receive(_ task: DownloadTask, _ watch: DownloadWatch) async throws(LoadError) -> DownloadedFile {
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                for await _ in watch.checkpoints.values { await storeCheckpoint(of: task) }
            }
            defer { group.cancelAll() }
            do throws(LoadError) {
                return Result<DownloadedFile, LoadError>.success(try await task.result())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    @inline(never)
    private func storeCheckpoint(of task: DownloadTask) async {
        guard mayStoreURL, let data = task.checkpoint else { return }
        // Without a checkpoint the next attempt has less to go on with; nothing else is lost.
        try? await area.checkpoint(data, of: job.id)
    }

    // MARK: Ending

    @inline(never)
    private func received(
        _ file: DownloadedFile, by task: DownloadTask, _ watch: DownloadWatch, startedAt start: Timestamp
    ) async throws(LoadError) -> SharedOutcome {
        var outcome = JobOutcome(.success((file.response, nil)), of: task, load, startedAt: start)
        if outcome.state == .succeeded {
            try await keep(file, as: watch.chosenDestination, in: &outcome)
        } else {
            await discard()
        }
        return SharedOutcome(outcome)
    }

    /// Puts the file into the blob store, under a name of its own.
    ///
    /// - Parameter chosen: The name that an answer chose, in place of the configuration.
    private func keep(
        _ file: DownloadedFile, as chosen: (filename: String?, overwrite: Bool)?, in outcome: inout JobOutcome
    ) async throws(LoadError) {
        do throws(StoreError) {
            live.moveBody { [area] () throws(StoreError) in try await area.openGrowing(fileAt: file.path) }
            let content = try await blobs.adopt(fileAt: file.path, file.sha256.map { SHA256Digest(bytes: $0) })
            live.moveBody { [blobs] () throws(StoreError) in WholeBody(content.id, in: blobs) }
            live.completeBody()
            let destination = load.settings.destination
            let blob = Blob(
                tenant: job.tenant,
                content: content,
                contentType: file.decodedMediaType == nil ? file.response.mimeType : nil,
                expiresAt: destination.expiresAfter.map { Timestamp.now.advanced(by: .seconds($0)) }
            )
            let suggested =
                chosen.map { $0.filename ?? file.suggestedFilename } ?? destination.filename
                ?? file.suggestedFilename
            let replaces = chosen?.overwrite ?? destination.allowOverwrite ?? false
            let name = try await patiently { () throws(StoreError) in
                try await catalog.addFile(
                    blob, of: job.id, named: suggested, replacing: replaces)
            }
            live.note(.destinationCreated) { $0.member("filename", name.filename) }
            if let replaced = name.replaced { try await blobs.delete(replaced) }
            let fork = try await keepResourceFork(of: file, named: name.filename, like: blob)
            outcome.body = .blob(content)
            outcome.file = RawJSON(
                JSONWriter.object { file.write(&$0, blob: blob, filename: name.filename, resourceFork: fork) })
            try await area.remove(job.id)
        } catch {
            throw LoadError(error)
        }
    }

    /// Keeps the other half of a Macintosh file as a file beside it.
    private func keepResourceFork(
        of file: DownloadedFile,
        named filename: String,
        like blob: Blob
    ) async throws(StoreError) -> Blob.ID? {
        guard !file.attributes.resourceFork.isEmpty else { return nil }
        var draft = try await BlobDraft(in: blobs)
        try await draft.append(file.attributes.resourceFork)
        let fork = Blob(
            tenant: job.tenant, content: try await draft.finish(), contentType: nil, expiresAt: blob.expiresAt)
        _ = try await catalog.addFile(fork, of: nil, named: "\(filename).rsrc", replacing: false)
        return fork.id
    }

    /// Asks again while the database is away: the bytes are here, and nothing is gained by giving them up.
    private func patiently<Answer>(
        _ ask: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        while true {
            do throws(StoreError) {
                return try await ask()
            } catch {
                guard error.code == .unavailable, stop.reason == nil, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    @inline(never)
    private func failed(_ error: LoadError, _ task: DownloadTask, startedAt start: Timestamp) async -> SharedOutcome {
        var outcome = JobOutcome(.failure(error), of: task, load, startedAt: start)
        do throws(StoreError) {
            if hasNextAttempt(after: outcome) {
                if let data = error.resumeData, mayStoreURL { try await area.checkpoint(data, of: job.id) }
                // Nobody knows which of its bytes are wrong.
                if error.code == .contentDigestMismatch { try await area.remove(job.id) }
                return SharedOutcome(outcome)
            }
            outcome.error = try await leavings(of: error, task)
            try await area.remove(job.id)
        } catch {
            // The job has failed already, and for a better reason; a leftover here is removed later.
        }
        return SharedOutcome(outcome)
    }

    /// Whether another attempt continues the partial file.
    private func hasNextAttempt(after outcome: JobOutcome) -> Bool {
        switch stop.reason {
        case nil: outcome.retryAfter != nil
        case .drained, .leaseLost, .parked: true
        case .cancelled, .expired: false
        }
    }

    /// The error with the resume data for another job, or the reason why there are none (DLD-10, DLD-13, DLD-15).
    private func leavings(of error: LoadError, _ task: DownloadTask) async throws(StoreError) -> RawJSON {
        var partial: Blob.ID?
        var resumable = Resumable.discarded
        if keepsPartial {
            partial = try await keepPartial(of: error)
            let isKnown = task.resumability.map { Resumable($0) } ?? .empty
            resumable = partial != nil ? .yes : isKnown == .yes ? .empty : isKnown
        }
        return RawJSON(
            JSONWriter.object { writer in
                error.write(&writer, live.urls)
                writer.member("resumeData", partial?.description)
                resumable.write(error: &writer)
            })
    }

    /// Whether the URL may be stored in clear with resume data; a download with a sensitive query begins anew.
    private var mayStoreURL: Bool { live.urls == .whole }

    private var keepsPartial: Bool {
        guard mayStoreURL else { return false }
        if case .cancelled(.plainly) = stop.reason { return false }
        if case .cancelled(.keepingPartial) = stop.reason { return true }
        return load.settings.destination.keepPartial ?? true
    }

    private func keepPartial(of error: LoadError) async throws(StoreError) -> Blob.ID? {
        guard let data = error.resumeData else { return nil }
        let partial = Blob(
            tenant: job.tenant,
            content: try await blobs.adopt(fileAt: data.path),
            contentType: nil,
            expiresAt: Timestamp.now.advanced(by: Self.lifeOfPartialFiles)
        )
        try await catalog.addPartial(partial, data, of: job.id)
        return partial.id
    }

    /// Removes a file whose response is no answer to the job.
    private func discard() async {
        // Files that are left here are removed later.
        try? await area.remove(job.id)
    }

    /// The time for which the partial file of a failed download is kept.
    static let lifeOfPartialFiles = Duration.seconds(7 * 86_400)
}
