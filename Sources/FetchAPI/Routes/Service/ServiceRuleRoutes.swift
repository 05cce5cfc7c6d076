import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// The rules of the service, for operators.
struct ServiceRuleRoutes: Sendable {
    private static let path = "/v1/admin/rules"

    let rules: any ServiceRuleStore
    let known: KnownServiceRules

    var routes: [Route] {
        [Route(.get, Self.path, admin: get), Route(.put, Self.path, admin: replace)]
    }

    private func get(_ call: Call) async throws -> Response {
        _ = try call.query()
        return Self.response(to: try await rules.serviceRules()).unlessKnown(to: call)
    }

    /// Replaces the rules; when the client says which it has seen, only if they still are those.
    private func replace(_ call: Call) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let new = try ServiceRules.rules(json: json)
        let seen = call.headers[values: .ifMatch].joined(separator: ",")
        while true {
            var version: Int64?
            if !seen.isEmpty {
                let current = try await rules.serviceRules()
                guard Representation.matches(seen, current.tag) else {
                    throw Problem(.preconditionFailed, "The rules are at \(current.tag).")
                }
                version = current.version
            }
            // Nil when another request has replaced them first; then they are read again.
            guard let stored = try await rules.replaceServiceRules(version, with: new) else { continue }
            known.note(stored)
            return Self.response(to: stored)
        }
    }

    private static func response(to rules: ServiceRules) -> Response {
        var response = Response.json(rules.write)
        response.headers[.eTag] = rules.tag
        return response
    }
}

extension ServiceRules {
    /// As an entity tag.
    fileprivate var tag: String { "\"\(version)\"" }
}
