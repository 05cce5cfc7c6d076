import FetchJobs
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The requests of aria2, so that programs that steer it work against this service: `/jsonrpc`.
///
/// A download is an ordinary job of the kind `download`, with labels that say what only aria2 has words for.
struct Aria2Door: Sendable {
    static let path = "/jsonrpc"
    static let maximumBody = 1 << 20

    let methods: Aria2Methods
    let origins: AllowedOrigins

    static func serves(_ path: String) -> Bool { path == Self.path }

    var routes: [Route] {
        [
            Route(.post, Self.path, calls: post), Route(.get, Self.path, calls: get),
            Route(.options, Self.path, preflight),
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

    /// The same by parameters of the query, as JSON or as a script that calls a function (JSONP).
    private func get(_ call: Call, _ responder: Responder) async throws -> Response {
        // A request that asks for no content should do nothing either.
        guard call.request.method == .get else { throw Problem(.methodNotAllowed, "HEAD does nothing here.") }
        let origin = try origins.require(of: call)
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
        var headers: HTTPFields = [
            .allow: "GET, OPTIONS, POST", .accessControlAllowMethods: "GET, POST",
            .accessControlAllowHeaders: "Authorization, Content-Type", .accessControlMaxAge: "1728000",
        ]
        AllowedOrigins.write(origin, to: &headers)
        return Response(status: .noContent, headers: headers)
    }

    private func answer(_ request: Aria2Request, to call: Call, _ responder: Responder) async -> Aria2Answer {
        var exchange = Aria2Exchange(call: call, responder: responder, methods: methods)
        guard request.isBatch else {
            return await exchange.answer(request.items.first ?? Aria2Request.Item(id: .null, failure: .invalidRequest))
        }
        guard request.items.count <= Aria2Exchange.maximumCalls else {
            return Aria2Answer(id: .null, result: .failure(.tooManyCalls))
        }
        var answers: [Aria2Answer] = []
        for item in request.items { answers.append(await exchange.answer(item)) }
        return Aria2Answer(batch: answers)
    }

    /// A problem of a request as a whole, as aria2's clients read one.
    static func response(to problem: Problem) -> Response {
        var response = Aria2Answer(id: .null, result: .failure(Aria2Failure(problem))).response(to: nil)
        for field in problem.headers where field.name != .wwwAuthenticate { response.headers[field.name] = field.value }
        return response
    }
}
