import EventLoop
import HTTPTypes
import Synchronization

// How a download goes from its response to its file. The steps are in order of time.
extension DownloadTask {
    /// Takes the hops to the final response, and its body to the file.
    func receiveFile(on loop: isolated TransferLoop) async throws(LoadError) -> DownloadedFile {
        // A task that continues a data task takes over its load, which has its response already.
        load.client = self
        let hasResponse = load.record.withLock { $0.response != nil }
        if !hasResponse { _ = try await load.response(bufferingUpTo: 0, on: loop) }
        var writer: DownloadWriter?
        do throws(LoadError) {
            let new = try await begin(&writer, on: loop)
            try await writeBody(with: new, on: loop)
            return try await finish(new, on: loop)
        } catch {
            throw await fail(writer, error, on: loop)
        }
    }

    // What comes before and after the body is not inlined: the frame that waits for it would have room for the values.

    /// Plans the file, makes it, and writes what of the body has been looked at.
    ///
    /// - Parameter writer: Gets the writer before it has made anything.
    @inline(never)
    private func begin(
        _ writer: inout DownloadWriter?, on loop: isolated TransferLoop
    ) async throws(LoadError) -> DownloadWriter {
        var beginning = DownloadBeginning()
        let plan = try await plan(&beginning, on: loop)
        let new = DownloadWriter(plan, decoder: beginning.decoder, number: identifier)
        writer = new
        try await begin(plan, beginning, with: new, on: loop)
        return new
    }

    @inline(never)
    private func finish(
        _ writer: DownloadWriter, on loop: isolated TransferLoop
    ) async throws(LoadError) -> DownloadedFile {
        let file = try await writer.finish()
        try load.checkCancellation()
        await fileDelegate?.task(self, didFinishDownloadingTo: file)
        await load.complete(on: loop)
        return file
    }

    /// The error as the task ends with it.
    @inline(never)
    private func fail(
        _ writer: DownloadWriter?, _ error: LoadError, on loop: isolated TransferLoop
    ) async -> LoadError {
        let error = await abandon(writer, load.located(error))
        await load.complete(with: error, on: loop)
        return error
    }

    // MARK: The plan

    private func plan(
        _ beginning: inout DownloadBeginning, on loop: isolated TransferLoop
    ) async throws(LoadError) -> DownloadPlan {
        guard let received = response else { throw LoadError(.unknown, "There is no response.") }
        let response = wholeResponse(received)
        var plan = DownloadPlan(
            response: response, filename: response.safeFilename, destination: options.destination,
            expectedCount: isContentDecoded ? nil : response.expectedContentLength,
            expectedDigest: options.expectedDigest ?? statedDigest(of: received), hashesFile: options.hashesFile,
            temporaryDirectory: options.temporaryDirectory,
            decodingLimits: configuration.decodingLimitsOfFile, resumability: .notResumable(.decoding))
        noteResumption(in: &plan)
        if plan.resumed == nil { try await decideDecoding(&beginning, in: &plan, on: loop) }
        if !isContentDecoded {
            plan.resumability = Resumability(request: wholeRequest, response: response, decoder: plan.decoder)
        }
        if plan.destination == nil, let delegate = fileDelegate {
            let name = plan.filename.text
            plan.destination = try await load.answer(on: loop) {
                await delegate.task(self, decideDestinationWithSuggestedFilename: name)
            }
        }
        return plan
    }

    /// The response that the whole file is the body of.
    private func wholeResponse(_ received: Response) -> Response {
        let (action, data) = downloadState.withLock { ($0.action, $0.resumption?.value.data) }
        guard let data else { return received }
        return switch action {
        case .resume(_, let total): data.whole(with: received, total: total)
        case .complete: data.whole(with: received, total: data.byteCount)
        case .startOver, .askAgain, nil: received
        }
    }

    private func noteResumption(in plan: inout DownloadPlan) {
        let (action, data) = downloadState.withLock { ($0.action, $0.resumption?.value.data) }
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
    private func decideDecoding(
        _ beginning: inout DownloadBeginning, in plan: inout DownloadPlan, on loop: isolated TransferLoop
    ) async throws(LoadError) {
        if let format = try await format(&beginning, plan, on: loop), await mayDecode(format, on: loop) {
            beginning.decoder = format.init()
            try await readHeader(&beginning, on: loop)
            plan.decoder = format
            plan.expectedCount = nil
            let attributes = beginning.decoder?.attributes ?? DecodedAttributes()
            plan.filename = plan.filename.decoded(by: format, attributes)
        } else if isContentDecoded, plan.response.contentCoding.contains("gzip") {
            // The decoded file is no gzip file any more.
            while beginning.bytes.count < 4, let chunk = try await load.nextChunk(on: loop) { beginning.bytes += chunk }
            let recognition = GzipDecoder.recognizes(beginning.bytes, isComplete: true, isLabelled: true)
            if recognition != .yes { plan.filename = plan.filename.decoded(by: GzipDecoder.self, DecodedAttributes()) }
        }
    }

    private func format(
        _ beginning: inout DownloadBeginning, _ plan: DownloadPlan, on loop: isolated TransferLoop
    ) async throws(LoadError) -> (any BodyDecoder.Type)? {
        guard fileDelegate != nil || !options.decodedMediaTypes.isEmpty else { return nil }
        let detection = FormatDetection(
            decoders: options.decoders, mediaType: plan.response.mimeType, filename: plan.filename)
        var isComplete = false
        while true {
            switch detection.verdict(on: beginning.bytes, isComplete: isComplete) {
            case .decoder(let decoder): return decoder
            case .none: return nil
            case .needsMore:
                if let chunk = try await load.nextChunk(on: loop) {
                    beginning.bytes += chunk
                } else {
                    isComplete = true
                }
            }
        }
    }

    private func mayDecode(_ format: any BodyDecoder.Type, on loop: isolated TransferLoop) async -> Bool {
        if !options.decodedMediaTypes.isDisjoint(with: format.mediaTypes) { return true }
        guard let delegate = fileDelegate, let mediaType = format.mediaTypes.first else { return false }
        let answer = try? await load.answer(on: loop) {
            await delegate.task(self, shouldDecodeSourceDataOfMIMEType: mediaType)
        }
        // A question that was given up is followed by the end of the load.
        return answer ?? false
    }

    /// No format's header is longer.
    private static let longestHeader = 128 * 1024

    /// Feeds the decoder until it knows the file's name; a header that does not end is not waited for.
    private func readHeader(
        _ beginning: inout DownloadBeginning, on loop: isolated TransferLoop
    ) async throws(LoadError) {
        var rest = beginning.bytes[...]
        while beginning.decoder?.isHeaderRead == false, beginning.bytes.count - rest.count < Self.longestHeader {
            if rest.isEmpty {
                guard let chunk = try await load.nextChunk(on: loop) else { return }
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
        _ plan: DownloadPlan, _ beginning: DownloadBeginning, with writer: DownloadWriter,
        on loop: isolated TransferLoop
    ) async throws(LoadError) {
        let path = try await open(writer, on: loop)
        let (partialPath, resumable) = await (writer.partialPath, writer.resumeData(of: wholeRequest))
        downloadState.withLock { state in
            state.path = partialPath
            state.beginning = resumable.map { Boxed($0) }
            state.resumability = plan.resumability
        }
        if let resumed = plan.resumed {
            await fileDelegate?.task(self, didResumeAtOffset: resumed.byteCount, expectedTotalBytes: plan.expectedCount)
        } else {
            removeStaleFile()
        }
        if let path { await fileDelegate?.task(self, didCreateDestination: path) }
        if plan.decoder != nil {
            let source = Array(beginning.bytes.dropLast(beginning.undecoded.count))
            _ = try await writer.append(decoded: beginning.decoded, of: source)
            try await write(beginning.undecoded, with: writer, on: loop)
        } else {
            try await write(beginning.bytes, with: writer, on: loop)
        }
    }

    /// Waits while there is no descriptor for the file, which is no reason to fail (REL-11).
    private func open(_ writer: DownloadWriter, on loop: isolated TransferLoop) async throws(LoadError) -> String? {
        while true {
            do throws(LoadError) { return try await writer.open() } catch {
                guard error.lacksDescriptor else { throw error }
                await load.pause(until: .now.advanced(by: DescriptorBudget.interval), on: loop)
                try load.checkCancellation()
            }
        }
    }

    /// Nothing will ever go on with the partial file of a download that starts over.
    private func removeStaleFile() {
        guard let data = downloadState.withLock({ $0.resumption?.value.data }) else { return }
        DownloadFile.removeStale(data.path)
    }

    private func writeBody(with writer: DownloadWriter, on loop: isolated TransferLoop) async throws(LoadError) {
        if downloadState.withLock({ $0.action == .complete }) {
            // The body says that nothing is left.
            while try await load.nextChunk(on: loop) != nil {}
            return
        }
        while let chunk = try await load.nextChunk(on: loop) { try await write(chunk, with: writer, on: loop) }
    }

    /// On the loop, which turns to the next bytes only when the writer has these: both work at the same time.
    private func write(
        _ bytes: [UInt8], with writer: DownloadWriter, on loop: isolated TransferLoop
    ) async throws(LoadError) {
        guard !bytes.isEmpty else { return }
        let total = try await writer.append(bytes)
        let new =
            total
            - downloadState.withLock { state in
                defer { state.written = total }
                return state.written
            }
        await fileDelegate?.task(
            self, didWriteData: new, totalBytesWritten: total, totalBytesExpectedToWrite: writer.plan.expectedCount)
    }

    // MARK: Failing

    /// Gives up the file, or keeps it and puts the resume data into the error.
    private func abandon(
        _ writer: DownloadWriter?, _ error: LoadError
    ) async -> LoadError {
        var error = error
        do throws(LoadError) {
            let keeps = keepsPartialFile(after: error)
            error.resumeData = try await writer?.abandon(keeping: keeps, of: wholeRequest)
        } catch {
            // The load has failed already, and for a better reason than that its rest could not be cleared away.
        }
        return writer == nil ? finalError(error) : error
    }
}

extension DownloadTask {
    /// Whether the content came in a coding that has been undone, so that its bytes are not the server's.
    ///
    /// The cache keeps bodies without their coding.
    private var isContentDecoded: Bool {
        guard let exchange = load.exchange else { return false }
        guard let transfer = exchange as? Transfer else { return exchange.response?.contentCoding.isEmpty == false }
        return transfer.decoder != nil
    }

    /// The digest of the file that the server states, where the transfer does not verify it: with a part of the file,
    /// and with a response that no transfer brought.
    private func statedDigest(of response: Response) -> ExpectedDigest? {
        guard configuration.verifiesContentDigests, !isContentDecoded else { return nil }
        return load.exchange is Transfer && response.status.code != 206 ? nil : response.expectedDigest
    }
}

/// The bytes of a download's body that were read before its file was there.
private struct DownloadBeginning {
    /// As it came.
    var bytes: [UInt8] = []
    var decoder: (any BodyDecoder)?
    /// The decoded bytes.
    var decoded: [UInt8] = []
    /// The bytes that are not decoded yet.
    var undecoded: [UInt8] = []
}
