#if DEBUG
    import Glibc
    import Synchronization

    /// A place where a debug build ends when it was asked to, so that tests see what a crash leaves there (REL-17).
    ///
    /// The process ends as if it were killed: nothing is stored, given back or closed in order. A release build has
    /// neither the places nor their names.
    package enum CrashPoint: String, CaseIterable, Sendable {
        /// A job is stored, and neither started nor acknowledged.
        case jobStored = "job.stored"
        /// Jobs are claimed, and none runs.
        case claimCommitted = "claim.committed"
        /// It is stored that a request begins that must not be repeated.
        case beginCommitted = "begin.committed"

        /// A connection is there, and no byte of the request has left.
        case transferStarted = "transfer.started"
        /// The head of the request has left, and of its body what the connection took at once.
        case requestSent = "request.sent"
        /// The head of the response is here.
        case responseHead = "response.head"
        /// Some of the response's body are here, and nobody has them yet.
        case responseBody = "response.body"

        /// Bytes of a download are in its file, and nothing counts them.
        case bytesWritten = "bytes.written"
        /// They are counted, and no checkpoint has them.
        case bytesCounted = "bytes.counted"
        /// The file of a download survives a loss of power up to here, and its checkpoint does not say so.
        case checkpointSynced = "checkpoint.synced"
        /// The checkpoint says so.
        case checkpointStored = "checkpoint.stored"

        /// A piece of a blob is in its file, which has a temporary name.
        case blobWritten = "blob.written"
        /// A blob is whole, under a name that is not its own.
        case blobSynced = "blob.synced"
        /// A blob has its name, and nothing refers to it.
        case blobNamed = "blob.named"
        /// The catalog has the blob or file, and nobody was told.
        case blobListed = "blob.listed"
        /// What a request appends to an upload survives a loss of power, and the request is not answered.
        case uploadAppended = "upload.appended"

        /// A piece of an answer that the cache takes is in the blob store.
        case cacheWritten = "cache.written"
        /// The cache has the whole body, and no entry.
        case cacheWhole = "cache.whole"
        /// The entry is stored.
        case cacheCommitted = "cache.committed"

        /// The outcome of an attempt is known, and not stored.
        case settleBefore = "settle.before"
        /// The end of a job is stored with its event, and nobody here was told.
        case settleCommitted = "settle.committed"
        /// An attempt is stored that another one follows.
        case retryCommitted = "retry.committed"

        /// Messages to webhooks are claimed, and none is sent.
        case webhookClaimed = "webhook.claimed"
        /// The receiver has answered, and that is not stored.
        case webhookSent = "webhook.sent"
        /// It is stored.
        case webhookSettled = "webhook.settled"

        /// The variable that names the point: `name`, or `name:count` for when it is passed that many times.
        package static let variable = "FETCHD_CRASH_AT"
        /// The exit status of a process that ended at its point.
        package static let exitStatus: Int32 = 86

        private static let armed = Mutex<(point: CrashPoint, count: Int)?>(nil)

        /// Has this process end at a point.
        ///
        /// - Returns: false when the text names none.
        package static func arm(_ text: String) -> Bool {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let point = CrashPoint(rawValue: String(parts[0])),
                let count = parts.count == 1 ? 1 : Int(parts[1]), count > 0
            else { return false }
            armed.withLock { $0 = (point, count) }
            return true
        }

        /// Ends the process if this is its point.
        package func pass() {
            let isOver = Self.armed.withLock { armed in
                guard armed?.point == self else { return false }
                armed?.count -= 1
                return armed?.count == 0
            }
            if isOver { _exit(Self.exitStatus) }
        }
    }
#endif
