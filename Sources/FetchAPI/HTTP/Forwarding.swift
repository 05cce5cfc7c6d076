import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Lets the node that has a job answer requests that only it can, with the caller's own key; over one hop, never more.
struct Forwarding: Sendable {
    /// How long the owner may be silent while it streams bytes: as long as its job's origin may.
    static let patience = Duration.seconds(3600)
    /// The longest wait for an answer that is optional.
    static let shortPatience = Duration.seconds(2)

    let node: Node.ID
    let directory: any NodeDirectory
    let client: any NodeClient

    /// The answer of the node that has the job, read as fast as the caller takes it.
    ///
    /// - Returns: nil when this node must answer: it has the job, or no node has it, or the request came from another
    ///   node.
    /// - Throws: ``Problem`` `nodeUnreachable`.
    func answer(to call: Call, about job: Job.ID, of tenant: Tenant.ID) async throws -> Response? {
        guard let answer = try await ask(call, about: job, of: tenant, patience: Self.patience) else { return nil }
        // Whether it is there or not: a stream of bytes ends the caller's connection, a short response does not.
        guard answer.status.kind == .successful else { return try await Self.whole(answer) }
        var headers = Self.passed(answer.headers)
        headers[.connection] = "close"
        return Response(status: answer.status, headers: headers, body: Self.body(answer, for: call))
    }

    /// The same when the owner's whole answer is there in a moment; nil too when it is not.
    ///
    /// - Parameter change: The changes of the request's fields.
    func promptAnswer(
        to call: Call, about job: Job.ID, of tenant: Tenant.ID, changing change: (inout HTTPFields) -> Void = { _ in }
    ) async throws -> Response? {
        do {
            let answer = try await ask(
                call, about: job, of: tenant, patience: Self.shortPatience, changing: change)
            guard let answer, answer.status == .ok else { return nil }
            return try await Self.whole(answer)
        } catch is Problem {
            return nil
        } catch is NodeUnreachable {
            return nil
        }
    }

    /// The same for a call whose body goes to the owner as it comes.
    func answer(feeding call: Call, about job: Job.ID, of tenant: Tenant.ID) async throws -> Response? {
        guard let owner = try await owner(of: job, tenant: tenant, for: call) else { return nil }
        return try await answer(feeding: call, at: owner)
    }

    /// The answer of the node that has a volume, to a call whose body goes there as it comes.
    ///
    /// - Returns: nil when there never was such a volume.
    /// - Throws: ``Problem`` `nodeUnreachable`, also for a call that was sent here by a node that took this one for that.
    func answer(feeding call: Call, about volume: Volume) async throws -> Response? {
        if !call.isForwarded, let node = try await directory.node(with: volume) {
            return try await answer(feeding: call, at: node)
        }
        guard try await directory.isKnown(volume) else { return nil }
        throw Problem(.nodeUnreachable, "The node that has it, with the volume \(volume), does not run.").retrying(
            after: 5)
    }

    private func answer(feeding call: Call, at owner: NodeAddress) async throws -> Response {
        var request = request(call, patience: Self.patience)
        if [.put, .patch].contains(call.request.method) {
            let body = call.request.body
            request.body = { write in
                for try await buffer in body { try await write(Array(buffer.readableBytesView)) }
            }
        }
        var response = try await Self.whole(try await send(request, to: owner))
        // The rest of a body that was refused is not worth reading.
        if response.status.kind != .successful { response.headers[.connection] = "close" }
        return response
    }

    /// The head of the owner's answer, with the body to be read; nil when this node is to answer.
    ///
    /// - Parameter changing: The changes of the request's fields.
    func ask(
        _ call: Call,
        about job: Job.ID,
        of tenant: Tenant.ID,
        patience: Duration,
        changing change: (inout HTTPFields) -> Void = { _ in }
    ) async throws -> NodeAnswer? {
        guard let owner = try await owner(of: job, tenant: tenant, for: call) else { return nil }
        var request = request(call, patience: patience)
        change(&request.headers)
        return try await send(request, to: owner)
    }

    private func owner(of job: Job.ID, tenant: Tenant.ID, for call: Call) async throws -> NodeAddress? {
        call.isForwarded ? nil : try await directory.owner(of: job, tenant: tenant)
    }

    private func send(_ request: NodeRequest, to owner: NodeAddress) async throws -> NodeAnswer {
        guard let url = owner.url else {
            throw Problem(
                .nodeUnreachable,
                "The node that has it, \(owner.id), is lost or has told no address (FETCHD_NODE_URL)."
            ).retrying(after: 5)
        }
        do {
            return try await client.send(request, to: url)
        } catch is NodeUnreachable {
            throw Problem(.nodeUnreachable, "The node that has it, \(owner.id), does not answer.").retrying(
                after: 5)
        }
    }

    // MARK: Messages

    /// The fields that are forwarded; the others are between the caller and this node.
    private static let passedOn: [HTTPField.Name] = [
        .authorization, .contentType, .range, .ifRange, .ifNoneMatch, .lastEventID, .uploadComplete, .uploadOffset,
        .uploadLength, .contentDigest, .contentEncoding,
    ]

    private func request(_ call: Call, patience: Duration) -> NodeRequest {
        var headers: HTTPFields = [.requestID: call.id.text]
        for name in Self.passedOn { headers[name] = call.headers[name] }
        call.trace?.write(to: &headers)
        // Marks it as forwarded (RFC 9110 §7.6.3).
        headers[.via] = (call.headers[.via].map { $0 + ", " } ?? "") + "1.1 \(node)"
        return NodeRequest(
            method: call.request.method, target: call.request.head.path ?? "/", headers: headers, patience: patience)
    }

    /// Without the fields that were between the nodes only.
    private static func passed(_ headers: HTTPFields) -> HTTPFields {
        let own: [HTTPField.Name] = [.connection, .transferEncoding, .date, .server, .requestID]
        return HTTPFields(headers.filter { !own.contains($0.name) })
    }

    private static func whole(_ answer: NodeAnswer) async throws -> Response {
        var bytes = ByteBuffer()
        while let more = try await answer.next() { bytes.writeBytes(more) }
        var headers = passed(answer.headers)
        headers[.contentLength] = nil
        return Response(status: answer.status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    private static func body(_ answer: NodeAnswer, for call: Call) -> ResponseBody {
        // For HEAD, the head alone has the length that a GET would bring.
        guard call.request.method != .head else { return ResponseBody() }
        let body = call.request.body
        return ResponseBody { writer in
            // Ends the request to the owner when the caller leaves, or this node stops.
            try await body.consumeWithCancellationOnInboundClose { _ in
                for try await bytes in answer.chunks { try await writer.write(ByteBuffer(bytes: bytes)) }
                if Task.isShuttingDownGracefully { throw CancellationError() }
            }
            try await writer.finish(nil)
        }
    }
}

extension NodeAnswer {
    /// The body; it ends early when this node stops.
    var chunks: AsyncCancelOnGracefulShutdownSequence<AsyncThrowingStream<[UInt8], any Error>> {
        AsyncThrowingStream(unfolding: next).cancelOnGracefulShutdown()
    }
}

extension Call {
    /// It has come over another node.
    var isForwarded: Bool {
        (headers[.via] ?? "").split(separator: ",").contains { element in
            element.split(separator: " ").dropFirst().first.flatMap { Node.ID($0) } != nil
        }
    }
}
