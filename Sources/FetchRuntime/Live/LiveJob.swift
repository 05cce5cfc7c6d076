package import FetchEngine
package import FetchJobs
import Synchronization

/// One attempt of a job while it runs here: its progress, its events, and the bytes so far.
package final class LiveJob: Sendable {
    /// Events beyond it push out the oldest.
    static let maximumEvents = 256
    /// So do the bytes of their data beyond this: a server may send a response after the other, with long fields.
    static let maximumEventBytes = 262_144

    fileprivate struct State {
        var events: [JobEvent] = []
        /// Of the data of the events.
        var eventBytes = 0
        var count = 0
        /// The numbers of events that are still to come, which are told before those behind them.
        var reserved: Set<Int> = []
        var body: LiveBody?
        var bodyCount: Int64 = 0
        var isBodyComplete = false
        var isOver = false
        var isFollowed = false
        var hasResponse = false
        /// The steps of the load so far.
        var steps: (@Sendable () -> [LoadStep])?
        var notedSteps = 0
        /// Writes the response, once it is there.
        var response: (@Sendable () -> RawJSON?)?
        var progress: (@Sendable () -> JobProgress)?
        var followers: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextFollower = 0
        /// Something has changed that the followers were not told of.
        var hasNews = false
    }

    package let tenant: Tenant.ID
    package let job: Job.ID
    /// The body that a client sends while the job runs.
    package let upload: LiveUpload
    /// The parts of URLs that its events show.
    package let urls: URLForm
    private let attempt: Int
    private let state = Mutex(State())

    init(_ job: Job.ID, of tenant: Tenant.ID, attempt: Int, urls: URLForm = .whole) {
        self.job = job
        self.tenant = tenant
        self.urls = urls
        self.attempt = attempt
        upload = LiveUpload()
        upload.onWanted { [weak self] in self?.note(.bodyWanted) { _ in } }
    }

    // MARK: The worker

    /// Sets the sources of the progress of the transfer.
    ///
    /// - Parameters:
    ///   - steps: The steps of the load so far; called only while a client follows the job.
    ///   - response: The response as soon as it is there, for a job that does not note it; likewise.
    package func attach(
        progress: @escaping @Sendable () -> JobProgress,
        steps: (@Sendable () -> [LoadStep])? = nil,
        response: (@Sendable () -> RawJSON?)? = nil
    ) {
        state.withLock { state in
            state.steps = steps
            state.response = response
            state.progress = progress
        }
    }

    package func note(_ name: JobEvent.Name, _ members: (inout JSONWriter) -> Void) {
        // Earlier events go first.
        if state.withLock({ $0.isFollowed }) { noteResponse() }
        let data = RawJSON(JSONWriter.object(members))
        change { $0.append(name, data, of: attempt) }
    }

    /// Numbers an event that has to be stored before it is noted; what happened before it is noted first.
    ///
    /// Events behind it are not told before ``note(_:at:_:)`` or ``cancel(_:)`` is called with its position.
    package func reserve() -> JobEvent.Position {
        noteResponse()
        return change { $0.reserve(of: attempt) }
    }

    /// Notes an event at the position that was reserved for it.
    package func note(_ name: JobEvent.Name, at position: JobEvent.Position, _ members: (inout JSONWriter) -> Void) {
        let event = JobEvent(position: position, name: name, data: RawJSON(JSONWriter.object(members)))
        change { $0.insert(event) }
    }

    /// No event comes at a position that was reserved.
    package func cancel(_ position: JobEvent.Position) { change { $0.cancel(position) } }

    /// The load goes on behind steps that an earlier attempt has told.
    package func goOn(after steps: Int) { state.withLock { $0.notedSteps = steps } }

    /// Notes how far the transfer is.
    package func noteProgress() {
        guard let progress else { return }
        note(.progress, progress.write)
    }

    /// Notes the steps of the load since the last call.
    private func noteSteps() {
        guard let steps = state.withLock({ $0.steps })?() else { return }
        change { state in
            for step in steps.dropFirst(state.notedSteps) {
                state.append(step.eventName, RawJSON(JSONWriter.object { step.write(&$0, urls) }), of: attempt)
            }
            state.notedSteps = max(state.notedSteps, steps.count)
        }
    }

    /// Notes the response, if it is there and was not noted yet, after the steps before it.
    package func noteResponse() {
        noteSteps()
        let response = state.withLock { $0.hasResponse ? nil : $0.response }
        guard let data = response?() else { return }
        change { state in
            if !state.hasResponse { state.append(.response, data, of: attempt) }
        }
    }

    /// The response's body begins to arrive.
    package func begin(_ body: LiveBody) {
        change { state in
            state.body = body
            state.hasNews = true
        }
    }

    /// The bytes of the body lie elsewhere from now on; those who read them go on where they are.
    package func moveBody(_ open: @escaping @Sendable () async throws(StoreError) -> any GrowingBody) {
        state.withLock { state in
            guard let body = state.body else { return }
            state.body = LiveBody(contentType: body.contentType, filename: body.filename, open: open)
        }
    }

    /// So many bytes of the body can be read.
    package func grow(to count: Int64) {
        change { state in
            state.bodyCount = count
            state.hasNews = true
        }
    }

    /// The body is whole.
    package func completeBody() {
        change { state in
            state.isBodyComplete = true
            state.hasNews = true
        }
    }

    func end() {
        upload.end()
        if state.withLock({ $0.isFollowed }) { noteResponse() }
        let followers = state.withLock { state in
            if state.isFollowed { state.begin(attempt) }
            state.isOver = true
            state.progress = nil
            state.steps = nil
            state.response = nil
            guard !state.followers.isEmpty else { return [AsyncStream<Void>.Continuation]() }
            defer { state.followers = [:] }
            return Array(state.followers.values)
        }
        // Outside of the lock: a stream that ends leaves. What it was told last, it still gives.
        for follower in followers {
            follower.yield()
            follower.finish()
        }
    }

    /// Changes the state, then tells the followers of what is new.
    ///
    /// Outside of the lock: a task that is cancelled leaves while it is locked itself, so that whoever resumed it under
    /// our lock and the task that leaves would wait for each other.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, followers) = state.withLock { state in
            let result = body(&state)
            defer { state.hasNews = false }
            return (result, state.hasNews && !state.followers.isEmpty ? Array(state.followers.values) : [])
        }
        for follower in followers { follower.yield() }
        return result
    }

    // MARK: Followers

    package var progress: JobProgress? { state.withLock { $0.progress }?() }

    /// Somebody will ask for its events, after its end too.
    func noteFollower() { state.withLock { $0.isFollowed = true } }

    package func events(after position: JobEvent.Position?) -> [JobEvent] {
        noteResponse()
        return change { state in
            state.begin(attempt)
            let end = state.reserved.min() ?? .max
            return state.events.filter { event in
                event.position.number < end && position.map { event.position > $0 } ?? true
            }
        }
    }

    /// The received part of the response's body; nil before it begins.
    package var body: LiveBody? { state.withLock { $0.body } }

    /// How many bytes of the body can be read, whether they are all, and whether more may come.
    package var bodyState: (count: Int64, isComplete: Bool, isOver: Bool) {
        state.withLock { ($0.bodyCount, $0.isBodyComplete, $0.isOver) }
    }

    /// Yields once for the state so far, then at each change, several at once as one; ends with the job.
    package func changes() -> AsyncStream<Void> {
        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            continuation.yield()
            guard !state.isOver else { return continuation.finish() }
            let number = state.nextFollower
            state.nextFollower += 1
            state.followers[number] = continuation
            continuation.onTermination = { [weak self] _ in self?.leave(number) }
        }
        return changes
    }

    private func leave(_ number: Int) {
        // Outside of the lock: letting a continuation go may end its stream.
        let left = state.withLock { $0.followers.removeValue(forKey: number) }
        _ = left
    }
}

extension LiveJob.State {
    /// The first event of every attempt is its begin; it is written with the next event, or when a client reads.
    fileprivate mutating func begin(_ attempt: Int) {
        guard count == 0 else { return }
        push(.started, RawJSON(JSONWriter.object { $0.member("attempt", attempt) }), of: attempt)
    }

    fileprivate mutating func append(_ name: JobEvent.Name, _ data: RawJSON, of attempt: Int) {
        begin(attempt)
        push(name, data, of: attempt)
    }

    fileprivate mutating func reserve(of attempt: Int) -> JobEvent.Position {
        begin(attempt)
        count += 1
        reserved.insert(count)
        return JobEvent.Position(attempt: attempt, number: count)
    }

    fileprivate mutating func insert(_ event: JobEvent) {
        let index = events.lastIndex { $0.position < event.position }.map { $0 + 1 } ?? events.startIndex
        add(event, at: index)
        cancel(event.position)
    }

    fileprivate mutating func cancel(_ position: JobEvent.Position) {
        reserved.remove(position.number)
        hasNews = true
    }

    private mutating func push(_ name: JobEvent.Name, _ data: RawJSON, of attempt: Int) {
        count += 1
        hasResponse = hasResponse || name == .response
        let position = JobEvent.Position(attempt: attempt, number: count)
        add(JobEvent(position: position, name: name, data: data), at: events.endIndex)
        hasNews = true
    }

    private mutating func add(_ event: JobEvent, at index: Int) {
        events.insert(event, at: index)
        eventBytes += event.data.bytes.count
        // The newest stays, however long it is.
        while events.count > 1, events.count > LiveJob.maximumEvents || eventBytes > LiveJob.maximumEventBytes {
            eventBytes -= events.removeFirst().data.bytes.count
        }
    }
}

/// The body of a response that is still arriving.
package struct LiveBody: Sendable {
    package let contentType: String?
    package let filename: String?
    /// Opens the bytes so far, to be read up to ``LiveJob/bodyState``.
    ///
    /// Throws `blobGone` while they are on their way to another place, and when the attempt has removed them.
    package let open: @Sendable () async throws(StoreError) -> any GrowingBody

    package init(
        contentType: String?,
        filename: String?,
        open: @escaping @Sendable () async throws(StoreError) -> any GrowingBody
    ) {
        self.contentType = contentType
        self.filename = filename
        self.open = open
    }
}
