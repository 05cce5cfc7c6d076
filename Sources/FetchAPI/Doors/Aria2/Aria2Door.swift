import FetchJobs
import Foundation
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
        return await answer(request, to: call, responder).response(to: origin)
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
        // Browsers tell no origin of an image or a script, and here there is no secret that they would lack.
        guard responder.openDoor == nil else { throw Problem(.methodNotAllowed, "Calls are made by POST here.") }
        let query = RawQuery(call.request.uri.query)
        let callback = query.values("jsoncallback").first
        if let callback, !Self.isFunction(callback) {
            throw Problem(parameter: "jsoncallback", "must be the name of a function: letters, digits, _, $ and dots")
        }
        let answer = await answer(Aria2Request(query), to: call, responder)
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

    private func answer(_ request: Aria2Request, to call: Call, _ responder: Responder) async -> Aria2Answer {
        var exchange = Aria2Exchange(call: call, responder: responder, methods: methods)
        guard request.isBatch else {
            let item = request.items.first ?? Aria2Request.Item(id: .null, failure: .invalidRequest)
            return await exchange.answer(item)
        }
        guard request.items.count <= Aria2Exchange.maximumCalls else {
            return Aria2Answer(id: .null, result: .failure(.tooManyCalls))
        }
        var answers: [Aria2Answer] = []
        for item in request.items { answers.append(await exchange.answer(item)) }
        return Aria2Answer(batch: answers)
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
