import EventLoop
import HTTPTypes
import Synchronization

// How a download goes from its response to its file. The steps are in order of time.
extension TransferLoop {
    /// Takes the hops to the final response, and its body to the file.
    func download(_ task: DownloadTask) async throws(LoadError) -> DownloadedFile {
        // A task that goes on for a data task has its response already.
        let isBegun = task.load.record.withLock { $0.response != nil }
        if !isBegun { _ = try await response(of: task, bufferingUpTo: 0) }
        return try await receive(task)
    }

    /// The exchange of a download of which an earlier one has left all.
    func wholeExchange(for request: Request, of task: SessionTask) -> Exchange? {
        guard let response = (task as? DownloadTask)?.takeWhole() else { return nil }
        let exchange = StoredExchange(response, body: [], for: request, configuration: task.shared, load: task.load)
        task.load.take(exchange, for: request)
        return exchange
    }

    private func receive(_ task: DownloadTask) async throws(LoadError) -> DownloadedFile {
        var beginning = DownloadBeginning()
        var writer: DownloadWriter?
        do throws(LoadError) {
            let plan = try await plan(for: task, &beginning)
            let new = DownloadWriter(plan, decoder: beginning.decoder, number: task.identifier)
            writer = new
            try await begin(task, plan, beginning, with: new)
            try await writeBody(of: task, plan, with: new)
            let file = try await new.finish()
            if let cancellation = task.load.cancellation { throw cancellation }
            if task.completion == nil { await task.fileTeller?.task(task, didFinishDownloadingTo: file) }
            if complete(task) { await tell(task, nil) }
            return file
        } catch {
            let error = await abandon(writer, of: task, error.at(task.currentRequest.url))
            if complete(task, with: error) { await tell(task, error) }
            throw error
        }
    }

    // MARK: What goes where

    private func plan(
        for task: DownloadTask, _ beginning: inout DownloadBeginning
    ) async throws(LoadError) -> DownloadPlan {
        guard let answer = task.response else { throw LoadError(.unknown, "There is no response.") }
        let response = wholeResponse(answer, of: task)
        let options = task.options
        var plan = DownloadPlan(
            response: response, filename: response.safeFilename, destination: options.destination,
            expectedCount: task.isContentDecoded ? nil : response.expectedContentLength,
            expectedDigest: options.expectedDigest ?? task.statedDigest(of: answer),
            temporaryDirectory: options.temporaryDirectory,
            decodingLimits: task.shared.value.decodingLimits, resumability: .notResumable(.decoding))
        noteResumption(of: task, in: &plan)
        if plan.resumed == nil { try await decide(decodingOf: task, &beginning, in: &plan) }
        if !task.isContentDecoded {
            plan.resumability = Resumability(request: task.wholeRequest, response: response, decoder: plan.decoder)
        }
        if plan.destination == nil, task.completion == nil, let teller = task.fileTeller {
            let name = plan.filename.text
            plan.destination = try await task.load.answer(isolation: self) {
                await teller.task(task, decideDestinationWithSuggestedFilename: name)
            }
        }
        return plan
    }

    /// The response that the whole file is the body of.
    private func wholeResponse(_ answer: Response, of task: DownloadTask) -> Response {
        let (action, data) = task.downloadState.withLock { ($0.action, $0.resumption?.data) }
        guard let data else { return answer }
        return switch action {
        case .resume(_, let total): data.whole(with: answer, total: total)
        case .complete: data.whole(with: answer, total: data.totalCount)
        case .startOver, .askAgain, nil: answer
        }
    }

    private func noteResumption(of task: DownloadTask, in plan: inout DownloadPlan) {
        let (action, data) = task.downloadState.withLock { ($0.action, $0.resumption?.data) }
        switch action {
        case .resume(_, let total):
            plan.resumed = data
            plan.expectedCount = total
        case .complete:
            plan.resumed = data
            plan.expectedCount = data?.byteCount
        case .startOver, .askAgain, nil: break
        }
    }

    /// Looks at the file's first bytes and asks whether to decode it.
    private func decide(
        decodingOf task: DownloadTask, _ beginning: inout DownloadBeginning, in plan: inout DownloadPlan
    ) async throws(LoadError) {
        if let format = try await format(of: task, &beginning, plan), await mayDecode(format, task) {
            beginning.decoder = format.init()
            try await readHeader(of: task, &beginning)
            plan.decoder = format
            plan.expectedCount = nil
            let attributes = beginning.decoder?.attributes ?? DecodedAttributes()
            plan.filename = plan.filename.decoded(by: format, attributes)
        } else if task.isContentDecoded, plan.response.contentCoding.contains("gzip") {
            // What was a gzip file to the server is none any more.
            while beginning.bytes.count < 4, let chunk = try await nextChunk(of: task) { beginning.bytes += chunk }
            let recognition = GzipDecoder.recognizes(beginning.bytes, isComplete: true, isLabelled: true)
            if recognition != .yes { plan.filename = plan.filename.decoded(by: GzipDecoder.self, DecodedAttributes()) }
        }
    }

    private func format(
        of task: DownloadTask, _ beginning: inout DownloadBeginning, _ plan: DownloadPlan
    ) async throws(LoadError) -> (any BodyDecoder.Type)? {
        let isAsked = task.completion == nil && task.fileTeller != nil
        guard isAsked || !task.options.decodedMediaTypes.isEmpty else { return nil }
        let detection = FormatDetection(
            decoders: task.options.decoders, mediaType: plan.response.mimeType, filename: plan.filename)
        var isComplete = false
        while true {
            switch detection.verdict(on: beginning.bytes, isComplete: isComplete) {
            case .decoder(let decoder): return decoder
            case .none: return nil
            case .needsMore:
                if let chunk = try await nextChunk(of: task) { beginning.bytes += chunk } else { isComplete = true }
            }
        }
    }

    private func mayDecode(_ format: any BodyDecoder.Type, _ task: DownloadTask) async -> Bool {
        if !task.options.decodedMediaTypes.isDisjoint(with: format.mediaTypes) { return true }
        guard task.completion == nil, let teller = task.fileTeller, let mediaType = format.mediaTypes.first else {
            return false
        }
        let answer = try? await task.load.answer(isolation: self) {
            await teller.task(task, shouldDecodeSourceDataOfMIMEType: mediaType)
        }
        // A question that was given up is followed by the end of the load.
        return answer ?? false
    }

    /// No format's header is longer.
    private static let longestHeader = 128 * 1024

    /// Feeds the decoder until it knows the file's name; a header that does not end is not waited for.
    private func readHeader(of task: DownloadTask, _ beginning: inout DownloadBeginning) async throws(LoadError) {
        var rest = beginning.bytes[...]
        while beginning.decoder?.isHeaderRead == false, beginning.bytes.count - rest.count < Self.longestHeader {
            if rest.isEmpty {
                guard let chunk = try await nextChunk(of: task) else { return }
                beginning.bytes += chunk
                rest = chunk[...]
            }
            let piece = rest.prefix(1024)
            rest = rest.dropFirst(piece.count)
            beginning.decoded += try beginning.decoder?.decode(Array(piece)) ?? []
        }
        beginning.undecoded = Array(rest)
    }

    // MARK: The file

    private func begin(
        _ task: DownloadTask, _ plan: DownloadPlan, _ beginning: DownloadBeginning, with writer: DownloadWriter
    ) async throws(LoadError) {
        let path = try await writer.open()
        let (partialPath, resumable) = await (writer.partialPath, writer.resumeData(of: task.wholeRequest))
        task.downloadState.withLock { state in
            state.path = partialPath
            state.beginning = resumable
            state.resumability = plan.resumability
        }
        let teller = task.completion == nil ? task.fileTeller : nil
        if let resumed = plan.resumed {
            await teller?.task(task, didResumeAtOffset: resumed.byteCount, expectedTotalBytes: plan.expectedCount)
        } else {
            removeStaleFile(of: task)
        }
        if let path { await teller?.task(task, didCreateDestination: path) }
        if plan.decoder != nil {
            let source = Array(beginning.bytes.dropLast(beginning.undecoded.count))
            _ = try await writer.append(decoded: beginning.decoded, of: source)
            try await write(beginning.undecoded, of: task, plan, with: writer)
        } else {
            try await write(beginning.bytes, of: task, plan, with: writer)
        }
    }

    /// Nothing will ever go on with the partial file of a download that starts over.
    private func removeStaleFile(of task: DownloadTask) {
        guard let data = task.downloadState.withLock({ $0.resumption?.data }) else { return }
        DownloadFile.removeStale(data.path)
    }

    private func writeBody(
        of task: DownloadTask, _ plan: DownloadPlan, with writer: DownloadWriter
    ) async throws(LoadError) {
        if task.downloadState.withLock({ $0.action == .complete }) {
            // The body says that nothing is left.
            while try await nextChunk(of: task) != nil {}
            return
        }
        while let chunk = try await nextChunk(of: task) { try await write(chunk, of: task, plan, with: writer) }
    }

    private func write(
        _ bytes: [UInt8], of task: DownloadTask, _ plan: DownloadPlan, with writer: DownloadWriter
    ) async throws(LoadError) {
        guard !bytes.isEmpty else { return }
        let total = try await writer.append(bytes)
        let new =
            total
            - task.downloadState.withLock { state in
                defer { state.written = total }
                return state.written
            }
        guard task.completion == nil, let teller = task.fileTeller else { return }
        await teller.task(
            task, didWriteData: new, totalBytesWritten: total, totalBytesExpectedToWrite: plan.expectedCount)
    }

    /// The next bytes of the body, or nil at its end, which is not yet the task's.
    func nextChunk(of task: SessionTask) async throws(LoadError) -> [UInt8]? {
        if let cancellation = task.load.cancellation { throw cancellation }
        guard let exchange = task.load.exchange else { return nil }
        let bytes = await nextBytes(from: exchange)
        guard bytes.isEmpty, case .some(let error) = exchange.outcome else { return bytes }
        if let error { throw error }
        return nil
    }

    // MARK: Failing

    /// Gives up the file, or keeps it, and tells in the error what the download can go on with.
    private func abandon(
        _ writer: DownloadWriter?, of task: DownloadTask, _ error: LoadError
    ) async -> LoadError {
        var error = error
        do throws(LoadError) {
            let keeps = task.keepsPartialFile(after: error)
            error.resumeData = try await writer?.abandon(keeping: keeps, of: task.wholeRequest)
        } catch {
            // The load has failed already, and for a better reason than that its rest could not be cleared away.
        }
        return writer == nil ? task.finalError(error) : error
    }
}

/// What was read of a download's body before its file was there.
private struct DownloadBeginning {
    /// As it came.
    var bytes: [UInt8] = []
    var decoder: (any BodyDecoder)?
    /// What the decoder has made of it.
    var decoded: [UInt8] = []
    /// What the decoder has not got yet.
    var undecoded: [UInt8] = []
}
