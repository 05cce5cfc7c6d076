package import HTTPTypes

/// Sends other nodes the requests that only they can answer.
package protocol NodeClient: Sendable {
    /// Sends a request to the node at a URL, and returns with the head of its answer.
    ///
    /// - Throws: ``NodeUnreachable``, or `CancellationError`.
    func send(_ request: NodeRequest, to url: String) async throws -> NodeAnswer
}

/// A request that another node is to answer.
package struct NodeRequest: Sendable {
    /// Writes a body piece by piece; a write returns when there is room for more.
    package typealias Body = @Sendable (_ write: ([UInt8]) async throws -> Void) async throws -> Void

    package var method: HTTPRequest.Method
    /// Path and query.
    package var target: String
    package var headers: HTTPFields
    /// How long the other node may be silent.
    package var patience: Duration
    /// Nil for requests without one; the answer to one that has a body is awaited to its end.
    package var body: Body?

    package init(
        method: HTTPRequest.Method, target: String, headers: HTTPFields, patience: Duration, body: Body? = nil
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.patience = patience
        self.body = body
    }
}

/// The response of another node.
package struct NodeAnswer: Sendable {
    package let status: HTTPResponse.Status
    package let headers: HTTPFields
    /// The next bytes of the body, read no faster than they are asked for; nil at its end.
    ///
    /// Throws ``NodeUnreachable`` when it breaks off.
    package let next: @Sendable () async throws -> [UInt8]?

    package init(
        status: HTTPResponse.Status, headers: HTTPFields, next: @escaping @Sendable () async throws -> [UInt8]?
    ) {
        self.status = status
        self.headers = headers
        self.next = next
    }
}

/// The other node did not take the request, or did not answer it to the end.
package struct NodeUnreachable: Error {
    package let underlying: any Error

    package init(underlying: any Error) { self.underlying = underlying }
}
