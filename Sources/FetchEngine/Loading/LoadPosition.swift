package import HTTPTypes

/// The state of a load at a question, from which another load of the same task can go on, anywhere.
///
/// That one makes its connections, authenticates and adds cookies anew. It is kept as ``bytes``, which hold secrets.
package struct LoadPosition: Sendable {
    /// The hop at hand.
    struct Hop {
        /// The content of the request of a hop.
        enum Content: Equatable {
            /// The content of the task's own request.
            case original
            case none
            case bytes([UInt8])
            /// A file or files that an answer has put in place of the task's own content: ``LoadPosition/content``.
            case given
        }

        var url: URLRecord
        var method: HTTPRequest.Method
        /// Without the fields that the engine adds to each request.
        var headerFields: HTTPFields
        var content: Content
        /// Whether the content is sent in the coding of the task's own request.
        var isCoded: Bool
        var cachePolicy: CachePolicy
        /// The response of the server; nil when the request is still to be made.
        var answer: Answer?
    }

    /// A response that is whole.
    struct Answer {
        let response: Response
        let body: [UInt8]
    }

    /// The longest body of a response at hand, in bytes.
    static let maximumBodyBytes = 64 * 1024

    /// Nil before the first.
    var hop: Hop?
    /// How many redirects were followed before the hop.
    var followedRedirects = 0
    var authentication = AuthenticationResults()
    var connections = ConnectionDecisions()
    /// The redirects and challenges before the question, in their order.
    var steps: [LoadStep] = []
    /// How much of its time the resource has left; nil for any.
    var timeLeft: Duration?
    /// When the load began, in microseconds since 1970; nil before it did.
    var start: Int64?
    /// The transactions before the question, in their order.
    var transactions: [TransactionMetrics] = []
    /// The content that an answer has given, where it is not among ``bytes``: whoever keeps them names it in words of
    /// its own, and sets it for the load that goes on.
    package var content: RequestBody?

    /// Whether the load goes on only with ``content``.
    package var needsContent: Bool { hop?.content == .given }

    /// The method of the hop; nil before the first.
    package var method: HTTPRequest.Method? { hop?.method }

    /// How many redirects and challenges there were.
    package var stepCount: Int { steps.count }

    /// Before the first request.
    package init() {}
}
