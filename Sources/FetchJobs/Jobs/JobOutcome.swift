/// How one attempt of a job ended: all that is stored of it.
package struct JobOutcome: Sendable {
    package let state: JobState
    package let startedAt: Timestamp
    package let finishedAt: Timestamp
    package var status: Int?
    package var response: StoredResponse?
    /// `{"domain", "code", "name", "message", …}`.
    package var error: RawJSON?
    package var errorName: String?
    /// What the target policy has refused; nil when it has refused nothing.
    package var refusedTarget: RefusedTarget?
    package var redirects: RawJSON?
    package var challenges: RawJSON?
    package var transfers: StoredTransfers?
    /// What the attempt has moved.
    package var traffic = Traffic()
    /// The decisions of the attempt, as ``Decision`` writes them; nil when there was no question.
    package var decisions: RawJSON?
    package var body: Body?
    /// `{"blob", "filename", …}` of a download.
    package var file: RawJSON?

    /// The jobs that tell of it, and are stored with it.
    package var callbacks: [NewJob] = []

    /// The signal of the response for the next requests to the job's host; nil when there is none.
    package var signal: Limiter.Signal?

    /// What it did on the network, which is counted and not stored; nil when nothing was done.
    package var observation: LoadObservation?

    /// Whether one connection to the job's origin carries many loads.
    package var isMultiplexed = false

    /// How long to wait before another attempt; nil when this was the last one.
    package var retryAfter: Duration?
    /// When the job is given up if another attempt follows; nil when that does not change.
    package var deadline: Timestamp?

    /// The bytes of a response: beside their row, or in the blob store.
    package enum Body: Sendable {
        case inline([UInt8])
        case blob(MeasuredBlob)

        package var bytes: Int64 {
            switch self {
            case .inline(let bytes): Int64(bytes.count)
            case .blob(let content): content.bytes
            }
        }

        /// Whether it is stored without its digest, which costs less to make, when somebody asks, than to keep.
        ///
        /// A row with a longer body is parted, and does not get shorter.
        package var isShort: Bool { if case .inline(let bytes) = self { bytes.count <= 4096 } else { false } }
    }

    package init(state: JobState, startedAt: Timestamp, finishedAt: Timestamp) {
        self.state = state
        self.startedAt = startedAt
        self.finishedAt = finishedAt
    }
}
