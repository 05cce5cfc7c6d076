import FetchEngine
import FetchJobs
import FetchRuntime
import Synchronization

/// Takes a body that a client streams whole before it is sent, so that it can be sent again without its client (UPL-8).
struct BodySpool: Sendable {
    let blobs: any BlobStore
    let catalog: any BlobCatalog
    let tenant: Tenant.ID
    let maximumBytes: Int64
    /// How long the client may take to send some of it.
    let patience: Duration
    /// When the job is given up; nil for never.
    let deadline: Timestamp?
    let stop: StopSwitch

    /// How often is looked whether the client has gone silent.
    private static let step = Duration.milliseconds(250)

    /// The file that the body becomes.
    func take(from upload: LiveUpload) async throws(LoadError) -> RequestContent.Prepared {
        guard let pipe = await upload.makeStream() else {
            throw LoadError(.requestBodyStreamExhausted, "The job ends, and takes no body any more.")
        }
        stop.whenThrown { pipe.fail() }
        let watch = Watch()
        do throws(LoadError) {
            async let _: Void = giveUp(pipe, watch)
            return try await kept(pipe, watch)
        } catch {
            pipe.close()
            if stop.reason != nil { throw LoadError(.cancelled, "The job was stopped while its body came.") }
            throw watch.isGivenUp ? LoadError(.timedOut, "The client has not sent the body in time.") : error
        }
    }

    /// What the client has done so far.
    private final class Watch: Sendable {
        private let state = Mutex((since: ContinuousClock.now, isGivenUp: false))

        var idleTime: Duration { state.withLock { $0.since.duration(to: .now) } }
        var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

        func noteBytes() { state.withLock { $0.since = .now } }
        func giveUp() { state.withLock { $0.isGivenUp = true } }
    }

    /// Ends the body short when its client is silent for too long; a job that is held is none that waits.
    private func giveUp(_ pipe: BodyPipe, _ watch: Watch) async {
        while !Task.isCancelled {
            if stop.isSuspended { watch.noteBytes() }
            if watch.idleTime >= patience || deadline.map({ $0 <= .now }) ?? false {
                watch.giveUp()
                return pipe.fail()
            }
            try? await Task.sleep(for: Self.step)
        }
    }

    private func kept(_ pipe: BodyPipe, _ watch: Watch) async throws(LoadError) -> RequestContent.Prepared {
        do {
            let most = min(maximumBytes, try await catalog.room(of: tenant)?.left ?? .max)
            var draft = try await BlobDraft(in: blobs)
            do {
                while let bytes = try await pipe.next() {
                    watch.noteBytes()
                    guard draft.count + Int64(bytes.count) <= most else {
                        throw LoadError(.dataLengthExceedsMaximum, "The body has more than \(most) bytes.")
                    }
                    try await draft.append(bytes)
                }
            } catch {
                await draft.abandon()
                throw error
            }
            return try await file(of: try await draft.finish())
        } catch let error as LoadError {
            throw error
        } catch let error as StoreError {
            throw LoadError(error)
        } catch {
            throw LoadError(.unknown, "The body could not be kept.")
        }
    }

    /// The body as a file, which goes with the load; one in the store would have no row that keeps it.
    private func file(of content: MeasuredBlob) async throws(StoreError) -> RequestContent.Prepared {
        let file = try await blobs.file(of: content.id, bytes: content.bytes)
        if file.isCopy { try await blobs.delete(content.id) }
        return RequestContent.Prepared(body: .file(path: file.path), copies: [file.path])
    }
}
