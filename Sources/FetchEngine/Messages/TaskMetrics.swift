public import HTTPTypes

/// How a task went: one entry for each request and answer it took.
///
/// ```swift
/// func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
///     for hop in metrics.transactions { print(hop.url.redacted, hop.networkProtocolName ?? "", hop.responseEnd) }
/// }
/// ```
public struct TaskMetrics: Sendable {
    /// From the start of the task to its completion, or to now while it runs.
    public var taskInterval: Duration
    /// How many redirects were followed.
    public var redirectCount: Int
    /// The transactions in the order they were made.
    public var transactions: [TransactionMetrics]

    /// Makes metrics.
    public init(taskInterval: Duration = .zero, redirectCount: Int = 0, transactions: [TransactionMetrics] = []) {
        self.taskInterval = taskInterval
        self.redirectCount = redirectCount
        self.transactions = transactions
    }
}

/// How one request and its answer went.
///
/// Times are offsets from `fetchStart`; `nil` where the phase did not happen, on a reused connection for example.
public struct TransactionMetrics: Sendable {
    /// The URL of the request, without credentials.
    public var url: URLRecord
    /// The status of the answer, or `nil` when none came.
    public var status: Int?
    /// The source of the response.
    public var resourceFetchType = ResourceFetchType.networkLoad
    /// When it started, after the start of the task.
    ///
    /// Waiting for a free connection comes before it.
    public var fetchStart: Duration = .zero
    /// When the name was looked up first.
    public var domainLookupStart: Duration?
    /// When the name had been looked up.
    public var domainLookupEnd: Duration?
    /// When the connection was begun.
    public var connectStart: Duration?
    /// When the connection, TLS included, was ready.
    public var connectEnd: Duration?
    /// When the TLS handshake began.
    public var secureConnectionStart: Duration?
    /// When the TLS handshake was done.
    public var secureConnectionEnd: Duration?
    /// When the request began to be sent.
    public var requestStart: Duration?
    /// When the last byte of the request had been sent.
    public var requestEnd: Duration?
    /// When the first byte of the answer came.
    public var responseStart: Duration?
    /// When the transaction was over.
    public var responseEnd: Duration = .zero
    /// `http/1.0`, `http/1.1` or `h2`; `nil` when no answer came.
    public var networkProtocolName: String?
    /// The address the connection went to.
    public var remoteAddress: String?
    /// The port the connection went to.
    public var remotePort: Int?
    /// The address the connection came from.
    public var localAddress: String?
    /// The port the connection came from.
    public var localPort: Int?
    /// Whether the connection had served another transaction before.
    public var isReusedConnection = false
    /// Whether the connection was lost before an answer came; the next transaction is the same request on another one.
    public var connectionWasLost = false
    /// Whether the connection went to a proxy.
    public var isProxyConnection = false
    /// The header fields of the request as they were sent, with those that are added to every request.
    ///
    /// The values of fields that carry credentials, and of those that the request marks as sensitive, are left empty.
    /// `nil` unless ``SessionConfiguration/recordsHeaderFields`` is set, of a request that was not sent over HTTP, of a
    /// head of more than 8 KiB, and of a transaction before a load that was parked.
    public var requestHeaderFields: HTTPFields?
    /// The header fields of the response; `nil` where those of a request would be.
    public var responseHeaderFields: HTTPFields?
    /// Bytes of the request line and header fields.
    public var countOfRequestHeaderBytesSent: Int64 = 0
    /// Bytes of the request body as they were sent.
    public var countOfRequestBodyBytesSent: Int64 = 0
    /// Bytes of the request body before its ``Request/bodyCoding``; zero of a transaction before a load that was parked.
    public var countOfRequestBodyBytesBeforeEncoding: Int64 = 0
    /// Bytes of the status line and header fields, informational answers and trailers included.
    public var countOfResponseHeaderBytesReceived: Int64 = 0
    /// Bytes of the response body as they came.
    public var countOfResponseBodyBytesReceived: Int64 = 0
    /// Bytes of the response body once its content coding was undone; zero of a transaction before a load that was
    /// parked.
    public var countOfResponseBodyBytesAfterDecoding: Int64 = 0
    /// The TLS version, such as `TLSv1.3`.
    public var negotiatedTLSProtocolVersion: String?
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    public var negotiatedTLSCipherSuite: String?
    /// Whether the TLS handshake went on from an earlier one with the server, and cost it no signature.
    ///
    /// False on a reused connection, and of a transaction before a load that was parked.
    public var tlsSessionWasResumed = false
    /// The certificates that the server has shown, in DER, its own first.
    ///
    /// Empty on a reused connection, and of a transaction before a load that was parked.
    public var certificates: [[UInt8]] = []
    /// The names of the cookies that were sent; empty too of a transaction before a load that was parked.
    public var cookieNames: [String] = []

    /// Makes an empty record for a URL.
    public init(url: URLRecord) { self.url = url }
}

/// The source of a response.
public enum ResourceFetchType: String, Sendable, Hashable, Codable, CaseIterable {
    /// A server.
    case networkLoad
    /// The session's cache.
    ///
    /// When a server confirmed a stored response, a transaction of the network comes before it.
    case localCache
}
