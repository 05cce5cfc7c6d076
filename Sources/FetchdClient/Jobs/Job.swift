public import FetchEngine
public import Foundation

/// A job as the service told of it.
public struct Job: Sendable {
    /// Where a job is in its life; an open set.
    public struct State: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The word.
        public let rawValue: String
        /// Makes a state of its word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The word.
        public var description: String { rawValue }

        /// It waits for its time, or that of its next attempt.
        public static let scheduled = Self(rawValue: "scheduled")
        /// It waits for a node.
        public static let queued = Self(rawValue: "queued")
        /// A node has it.
        public static let running = Self(rawValue: "running")
        /// Its load waits for an answer of its delegate.
        public static let awaitingDecision = Self(rawValue: "awaitingDecision")
        /// Its client holds it.
        public static let suspended = Self(rawValue: "suspended")
        /// A response arrived, with whatever status.
        public static let succeeded = Self(rawValue: "succeeded")
        /// There is no response; the error says why.
        public static let failed = Self(rawValue: "failed")
        /// Its client stopped it.
        public static let cancelled = Self(rawValue: "cancelled")

        /// Whether it stays.
        public var isFinal: Bool { [.succeeded, .failed, .cancelled].contains(self) }
    }

    /// The kind of a task of the URL Loading System.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its body is kept with the job.
        case data
        /// Its body becomes a file.
        case download
        /// It sends a body.
        case upload
    }

    /// How far a job is that runs.
    public struct Progress: Sendable, Hashable, Decodable {
        /// Of the request's body.
        public let bytesSent: Int64
        /// The length of the request's body, where it is known.
        public let bytesExpectedToSend: Int64?
        /// Of the response's body.
        public let bytesReceived: Int64
        /// The length of the response's body, where it is known.
        public let bytesExpectedToReceive: Int64?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case bytesSent, bytesExpectedToSend, bytesReceived, bytesExpectedToReceive
        }
    }

    /// The stored body of a response.
    public struct Body: Sendable, Hashable, Decodable {
        /// Its size.
        public let bytes: Int64
        /// Its SHA-256, as RFC 9530 writes it.
        public let digest: String

        enum CodingKeys: String, CodingKey, CaseIterable { case bytes, digest }
    }

    /// The file of a download that has succeeded; its bytes are the job's body.
    public struct File: Sendable, Hashable, Decodable {
        /// The id of the blob.
        public let blob: String
        /// Its name, unique among the tenant's files.
        public let filename: String

        enum CodingKeys: String, CodingKey, CaseIterable { case blob, filename }
    }

    /// Its id, `job_…`.
    public let id: String
    /// Where it is in its life.
    public let state: State
    /// When it was stored; nil right after a submission that did not wait for the end, as all that follows.
    public let createdAt: Date?
    /// When it became final.
    public let finishedAt: Date?
    /// The kind of its task; `download` too when another has become one.
    public let kind: Kind?
    /// The session it belongs to; nil for the default one.
    public let session: String?
    /// The open question that it waits for.
    public let waitingFor: String?
    /// The client's own words about it.
    public let labels: [String: String]
    /// The request, without its secrets.
    public let request: Request?
    /// The response of the last hop, once there is one.
    public let response: Response?
    /// Why it failed.
    public let error: LoadError?
    /// How far it is.
    public let progress: Progress?
    /// What is stored of the response.
    public let body: Body?
    /// The file of a download.
    public let file: File?
    /// How its last attempt went.
    public let metrics: TaskMetrics
}

extension Job: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, state, createdAt, finishedAt, kind, session, waitingFor, labels, request, response, error, progress
        case body, file, redirects, attempts
    }

    struct AttemptDocument: Decodable {
        enum CodingKeys: String, CodingKey, CaseIterable { case metrics }

        let metrics: [TransferDocument]?
    }

    /// Reads a job, or what a submission is answered with.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func read<Value: Decodable>(_ key: CodingKeys, as type: Value.Type = Value.self) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: key)
        }
        id = try container.decode(String.self, forKey: .id)
        state = try container.decode(State.self, forKey: .state)
        createdAt = try read(.createdAt)
        finishedAt = try read(.finishedAt)
        kind = try read(.kind)
        session = try read(.session)
        waitingFor = try read(.waitingFor)
        labels = try read(.labels) ?? [:]
        request = try read(.request, as: RequestDocument.self)?.request()
        response = try read(.response, as: ResponseDocument.self)?.response()
        error = try read(.error, as: ErrorDocument.self)?.error
        progress = try read(.progress)
        body = try read(.body)
        file = try read(.file)
        let start = createdAt ?? .now
        let transfers = try read(.attempts, as: [AttemptDocument].self)?.last?.metrics ?? []
        metrics = TaskMetrics(
            taskInterval: .seconds((finishedAt ?? .now).timeIntervalSince(start)),
            redirectCount: try read(.redirects, as: [JSONValue].self)?.count ?? 0,
            transactions: try transfers.map { try $0.metrics(since: start) })
    }
}

/// A job as lists show it.
public struct JobSummary: Sendable, Hashable, Decodable {
    /// Its id.
    public let id: String
    /// Where it is in its life.
    public let state: Job.State
    /// When it was stored.
    public let createdAt: Date
    /// When it became final.
    public let finishedAt: Date?
    /// The method of its request.
    public let method: String
    /// Its URL, without query and fragment.
    public let url: String
    /// The status of its response.
    public let status: Int?
    /// The name of its error.
    public let error: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, state, createdAt, finishedAt, method, url, status, error
    }
}
