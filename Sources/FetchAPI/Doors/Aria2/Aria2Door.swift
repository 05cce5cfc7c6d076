import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// The requests of aria2, so that programs that steer it work against this service: `/jsonrpc`, and `/rpc` for XML-RPC.
///
/// A download is an ordinary job of the kind `download`, with labels that say what only aria2 has words for.
struct Aria2Door: Sendable {
    static let path = "/jsonrpc"
    static let pathOfXML = "/rpc"
    static let maximumBody = 1 << 20

    let methods: Aria2Methods
    let origins: AllowedOrigins
    let watch: Aria2Watch

    static func serves(_ path: String) -> Bool { path == Self.path || path == pathOfXML }

    var routes: [Route] {
        [
            Route(.post, Self.path, calls: post), Route(.get, Self.path, calls: get),
            Route(.options, Self.path, preflight), Route(.post, Self.pathOfXML, calls: postXML),
            Route(.options, Self.pathOfXML, preflight),
        ]
    }

    // MARK: Requests

    private func post(_ call: Call, _ responder: Responder) async throws -> Response {
        let origin = try origins.require(of: call)
        _ = try call.query()
        let body = try await call.body(upTo: Self.maximumBody)
        let request = Aria2Request(reading: body.readableBytesView)
        return await answer(request, to: call, responder).answer.response(to: origin)
    }

    private func postXML(_ call: Call, _ responder: Responder) async throws -> Response {
        let origin = try origins.require(of: call)
        _ = try call.query()
        let body = try await call.body(upTo: Self.maximumBody)
        let request: (name: String, parameters: [JSONValue])
        do { request = try XMLRPCReader.call(in: body.readableBytesView) } catch {
            throw Problem(.malformedRequest, "The body is no call of XML-RPC.")
        }
        var exchange = Aria2Exchange(call: call, responder: responder, methods: methods, in: .xml)
        return Self.response(to: await exchange.answerAny(request.name, request.parameters), origin)
    }

    /// Faults of calls are answers of XML-RPC, and so have no status but that of what a limit refuses.
    private static func response(to result: Result<RawJSON, Aria2Failure>, _ origin: String?) -> Response {
        var headers: HTTPFields = [
            .contentType: "text/xml", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        ]
        AllowedOrigins.write(origin, to: &headers)
        var status = HTTPResponse.Status.ok
        if case .failure(let failure) = result, failure.status != .badRequest {
            status = failure.status
            headers[.retryAfter] = failure.retryAfter
        }
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: XMLRPCWriter.answer(result))))
    }

    /// The same by parameters of the query, as JSON or as a script that calls a function (JSONP).
    private func get(_ call: Call, _ responder: Responder) async throws -> Response {
        // A request that asks for no content should do nothing either.
        guard call.request.method == .get else { throw Problem(.methodNotAllowed, "HEAD does nothing here.") }
        let origin = try origins.require(of: call)
        if WebSocketHandshake.isAsked(by: call) { return try await socket(call, responder) }
        // Browsers tell no origin of an image or a script, and here there is no secret that they would lack.
        guard responder.openDoor == nil else { throw Problem(.methodNotAllowed, "Calls are made by POST here.") }
        let query = RawQuery(call.request.uri.query)
        let callback = query.values("jsoncallback").first
        if let callback, !Self.isFunction(callback) {
            throw Problem(parameter: "jsoncallback", "must be the name of a function: letters, digits, _, $ and dots")
        }
        let answer = await answer(Aria2Request(query), to: call, responder).answer
        return answer.response(to: origin, calling: callback)
    }

    /// Whether a text is a name in JavaScript, and nothing that does anything else.
    private static func isFunction(_ text: String) -> Bool {
        text.utf8.count <= 128 && text.wholeMatch(of: #/[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*/#) != nil
    }

    private func preflight(_ call: Call) async throws -> Response {
        let origin = try origins.require(of: call)
        let methods = call.request.uri.path == Self.path ? ["GET", "POST"] : ["POST"]
        var headers: HTTPFields = [
            .allow: (methods + ["OPTIONS"]).sorted().joined(separator: ", "),
            .accessControlAllowMethods: methods.joined(separator: ", "),
            .accessControlAllowHeaders: "Authorization, Content-Type", .accessControlMaxAge: "1728000",
        ]
        AllowedOrigins.write(origin, to: &headers)
        return Response(status: .noContent, headers: headers)
    }

    /// The answers to the calls of a request, and a key by which one of them was let in.
    func answer(
        _ request: Aria2Request, to call: Call, _ responder: Responder
    ) async -> (answer: Aria2Answer, key: APIKey?) {
        var exchange = Aria2Exchange(call: call, responder: responder, methods: methods)
        guard request.isBatch else {
            let item = request.items.first ?? Aria2Request.Item(id: .null, failure: .invalidRequest)
            return (await exchange.answer(item), exchange.admitted)
        }
        guard request.items.count <= Aria2Exchange.maximumCalls else {
            return (Aria2Answer(id: .null, result: .failure(.tooManyCalls)), nil)
        }
        var answers: [Aria2Answer] = []
        for item in request.items { answers.append(await exchange.answer(item)) }
        return (Aria2Answer(batch: answers), exchange.admitted)
    }

    // MARK: WebSocket

    /// The parameter of a query that has the secret of a socket, for clients that can send no `Authorization`.
    private static let token = "token"

    private func socket(_ call: Call, _ responder: Responder) async throws -> Response {
        let handshake = try WebSocketHandshake(call)
        var call = call
        let query = RawQuery(call.request.uri.query)
        if let token = query.values(Self.token).first, call.headers[.authorization] == nil {
            call.bearer = token
        }
        let key = try await key(of: call, responder)
        let inbox = WebSocketInbox()
        guard watch.add(inbox, key) else {
            throw Problem(.tooManyCalls, "A tenant may have \(Aria2Watch.maximumSockets) sockets on a node.")
                .retrying(after: 1)
        }
        do {
            let channel = call.channel
            try await channel.eventLoop.submit {
                try WebSocketHandler.add(to: channel, upTo: Self.maximumBody, for: inbox)
            }.get()
        } catch {
            watch.remove(inbox)
            throw Problem(.malformedRequest, "A WebSocket needs HTTP/1.1.")
        }
        let (known, door, watch) = (call, self, watch)
        return Response(
            status: .switchingProtocols, headers: handshake.fields,
            body: ResponseBody { writer in
                defer { watch.remove(inbox) }
                var socket = Aria2Socket(door: door, call: known, responder: responder, inbox: inbox, key: key)
                // A client that has left takes nothing.
                try? await socket.converse(&writer)
                try await writer.finish(nil)
            })
    }

    /// The key of a handshake; nil where calls bring it.
    private func key(of call: Call, _ responder: Responder) async throws -> APIKey? {
        let key: APIKey
        if let openDoor = responder.openDoor {
            key = try await openDoor.key()
        } else if call.headers[.authorization] != nil {
            key = try await responder.authenticator.key(of: call)
        } else {
            return nil
        }
        var known = Responder.Known()
        _ = try await responder.admit(call, with: key, asking: .aria2, taking: nil, &known)
        return key
    }

    /// A problem of a request as a whole, as aria2's clients read one.
    static func response(to problem: Problem, at path: String) -> Response {
        let failure = Aria2Failure(problem)
        var response =
            path == pathOfXML
            ? response(to: .failure(failure), nil)
            : Aria2Answer(id: .null, result: .failure(failure)).response(to: nil)
        // A request that is no call has its status.
        if path == pathOfXML { response.status = failure.status }
        for field in problem.headers where field.name != .wwwAuthenticate { response.headers[field.name] = field.value }
        return response
    }
}
