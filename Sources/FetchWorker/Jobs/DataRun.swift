import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes

/// One attempt of a data or upload job: its body is kept, unless it becomes a download.
struct DataRun: Sendable {
    let load: PreparedLoad
    /// Nil where bodies stay in memory.
    var blobs: (any BlobStore)?
    /// Takes memory for so many more bytes of a body that stays there; false when there is none.
    var take: @Sendable (Int) -> Bool = { _ in true }
    /// The run that continues when the job becomes a download; nil where it cannot.
    var downloads: DownloadRun?
    let stop: StopSwitch

    private var live: LiveJob { load.live }

    /// Never throws: a failure is an outcome.
    ///
    /// Not inlined: the frame of its caller has no room for it when the job is a download.
    @inline(never)
    nonisolated(nonsending) func run() async -> SharedOutcome {
        let rule = load.settings.response.becomeDownload
        guard let downloads, rule != nil || load.decisions?.mayMakeFile == true else {
            return await run(load.answerer, upTo: Blob.inlineLimit)
        }
        // An earlier attempt may have become one, and have left something to go on with.
        if load.job.claim > 1, await downloads.hasPartialFile() { return await downloads.run() }
        let watch = downloads.watch(asking: rule)
        return await run(watch, upTo: min(Blob.inlineLimit, Int(clamping: rule?.aboveBytes ?? .max)), rule, watch)
    }

    private nonisolated(nonsending) func run(
        _ delegate: (any TaskDelegate)?,
        upTo limit: Int,
        _ rule: FetchJobs.Configuration.BecomeDownload? = nil,
        _ watch: DownloadWatch? = nil
    ) async -> SharedOutcome {
        let (start, progress) = (Timestamp.now, PartProgress())
        let task = task(delegate, progress)
        do throws(LoadError) {
            let response = try await task.response(bufferingUpTo: limit)
            if isFile(task, response, rule), let downloads, let watch {
                return await downloads.goOn(for: task, watch, startedAt: start)
            }
            if let boundary = response.boundary {
                let parts = try await parts(of: task, response, boundary, progress)
                return outcome(of: task, parts, startedAt: start)
            }
            let body = try await body(of: task, response)
            return outcome(of: task, .success((response, body)), startedAt: start)
        } catch {
            return outcome(of: task, .failure(stop.judged(error)), startedAt: start)
        }
    }

    /// The task of the load, which those can follow that follow the job.
    @inline(never)
    private func task(_ delegate: (any TaskDelegate)?, _ progress: PartProgress) -> DataTask {
        let task = load.session.dataTask(
            with: load.request, sharing: load.configuration, delegate: delegate)
        load.prepare(task, stop)
        live.attach {
            progress.ofPart(JobProgress(task))
        } steps: {
            task.steps
        } response: { [urls = live.urls] in
            task.response?.eventData(urls)
        }
        return task
    }

    @inline(never)
    private func outcome(
        of task: DataTask, _ result: Result<(Response, JobOutcome.Body?), LoadError>, startedAt start: Timestamp
    ) -> SharedOutcome {
        SharedOutcome(JobOutcome(result, of: task, load, startedAt: start))
    }

    @inline(never)
    private func outcome(of task: DataTask, _ parts: ReplacedParts, startedAt start: Timestamp) -> SharedOutcome {
        var outcome = JobOutcome(.success((parts.response, parts.body)), of: task, load, startedAt: start)
        outcome.response = StoredResponse(json: RawJSON(JSONWriter.object { parts.write(&$0, live.urls) }))
        return SharedOutcome(outcome)
    }

    /// Whether the body goes to a file: by an answer, or by the configuration where there was none.
    private func isFile(
        _ task: DataTask, _ response: Response, _ rule: FetchJobs.Configuration.BecomeDownload?
    ) -> Bool {
        if task.goesOnAsDownload { return true }
        guard task.completeBody == nil, let rule, load.decisions?.hasDecidedResponse != true else { return false }
        return rule.isMet(byIncomplete: response)
    }

    @inline(never)
    private nonisolated(nonsending) func body(
        of task: DataTask,
        _ response: Response
    ) async throws(LoadError) -> JobOutcome.Body? {
        if let bytes = task.completeBody {
            return bytes.isEmpty && !response.hasContent(to: load.request.method) ? nil : .inline(bytes)
        }
        guard let blobs else { return try await bodyInMemory(task) }
        return try await BlobSpool(blobs: blobs).store(task.body, of: response, live)
    }

    @inline(never)
    private nonisolated(nonsending) func bodyInMemory(_ task: DataTask) async throws(LoadError) -> JobOutcome.Body? {
        var writer = BodyWriter(in: nil, taking: take)
        for try await chunk in task.body { try await writer.append(chunk) }
        return try await writer.finish()
    }

    @inline(never)
    private nonisolated(nonsending) func parts(
        of task: DataTask,
        _ response: Response,
        _ boundary: MultipartBoundary,
        _ progress: PartProgress
    ) async throws(LoadError) -> ReplacedParts {
        let keeps = load.settings.response.multipartReplace ?? .last
        var spool = PartSpool(of: response, boundary, keeping: keeps, in: blobs, taking: take, live, progress)
        spool.deciding = load.decisions.map { ($0, load.request) }
        do throws(LoadError) {
            for try await chunk in task.body { try await spool.append(chunk) }
            return try await spool.finish()
        } catch {
            await spool.abandon()
            throw error
        }
    }
}

extension Response {
    /// Whether there is content, even of no byte (RFC 9110 §6.4.1).
    fileprivate func hasContent(to method: HTTPRequest.Method) -> Bool {
        method != .head && ![204, 205, 304].contains(status.code)
    }

    /// The response for followers of a job; of a response with parts they get each part.
    func eventData(_ urls: URLForm) -> RawJSON? {
        boundary == nil ? RawJSON(JSONWriter.object { writeWithoutSecrets(&$0, urls) }) : nil
    }
}

extension FetchJobs.Configuration.BecomeDownload {
    /// Whether a response is one whose job becomes a download, as far as its head tells.
    func isMet(by response: Response) -> Bool {
        if let type = response.mimeType?.lowercased(), mimeTypes.contains(where: { $0.matches(type) }) { return true }
        guard let aboveBytes, let length = response.expectedContentLength else { return false }
        return length > aboveBytes
    }

    /// The same once more bytes of its body have come than a data job waits for.
    func isMet(byIncomplete response: Response) -> Bool {
        isMet(by: response) || aboveBytes != nil && response.expectedContentLength == nil
    }
}
