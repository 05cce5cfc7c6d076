import FetchEngine
import HTTPTypes

/// Something that happened to a job.
public struct JobEvent: Sendable {
    /// Where to go on behind it; nil of progress, of which the newest alone counts.
    public let id: String?
    /// The kind, such as `job.progress`.
    public let type: String
    /// What happened, as the API writes it.
    public let data: JSONValue
    /// The same as it came.
    let content: [UInt8]

    func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(FetchdError) -> Value {
        try decoded(content)
    }
}

/// The events of a job, or of many, over as many connections as it takes.
///
/// Those of one job end with `job.finished`, others do not. Throws when the service cannot be reached several times in a
/// row.
public struct JobEvents: AsyncSequence, Sendable {
    public typealias Element = JobEvent
    public typealias Failure = FetchdError

    let transport: Transport
    let path: String
    /// The type of the last event; nil for events without end.
    let end: String?
    let lastEventID: String?
    /// How many connections in a row may fail; with none, one that ends before the job throws too.
    let repeats: Int

    /// - Parameter job: The id of a job, whose events these are.
    init(transport: Transport, job: String, lastEventID: String?, repeats: Int) {
        self.init(
            transport: transport, path: Call.path("jobs", job, "events"), end: "job.finished", lastEventID: lastEventID,
            repeats: repeats)
    }

    init(transport: Transport, path: String, end: String?, lastEventID: String?, repeats: Int) {
        (self.transport, self.path, self.end) = (transport, path, end)
        (self.lastEventID, self.repeats) = (lastEventID, repeats)
    }

    /// Starts to follow.
    public func makeAsyncIterator() -> Iterator { Iterator(events: self) }

    /// Reads event by event.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: JobEvents
        private var lastEventID: String?
        private var connection: ResponseBody.Iterator?
        private var parser = EventParser()
        private var failures = 0
        private var isOver = false

        init(events: JobEvents) {
            self.events = events
            lastEventID = events.lastEventID
        }

        /// The next event, or nil after the job's end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchdError) -> JobEvent? {
            while !isOver {
                if let event = try parser.next() {
                    lastEventID = event.id ?? lastEventID
                    failures = 0
                    isOver = event.type == events.end
                    return event
                }
                do throws(FetchdError) { try await read() } catch {
                    guard error.isRetryable, failures < events.repeats else { throw error }
                    connection = nil
                    try await pause(error.retryAfter ?? parser.retry ?? .backoff(failures))
                    failures += 1
                }
            }
            return nil
        }

        /// Takes more bytes in, of a connection that is made where there is none.
        private mutating func read(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchdError) {
            if connection == nil {
                var call = Call(.get, events.path)
                call.headers[.accept] = "text/event-stream"
                call.headers[.lastEventID] = lastEventID
                let (body, response) = try await events.transport.stream(call)
                // What was half there when a connection broke comes again.
                parser = EventParser()
                connection = body.makeAsyncIterator()
                // The client has the end already.
                isOver = response.status == .noContent
                return
            }
            var bytes: [UInt8]?
            do throws(LoadError) { bytes = try await connection?.next(isolation: actor) } catch {
                throw FetchdError(error)
            }
            // The stream ends with the service too, which may be there again soon.
            guard let bytes else { throw FetchdError(.connectionFailed, "The service has ended the stream of events.") }
            parser.add(bytes)
        }
    }
}
