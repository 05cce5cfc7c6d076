import FetchJobs
import HTTPTypes
import Hummingbird

/// URL groups, which QStash calls topics in its paths.
struct QStashGroupRoutes: Sendable {
    private static let maximumBody = 1 << 20

    let groups: any URLGroupStore

    var routes: [Route] {
        [
            Route(.get, "/v2/topics", tenant: list),
            Route(.get, "/v2/topics/{name}", tenant: get),
            Route(.delete, "/v2/topics/{name}", tenant: remove),
            Route(.post, "/v2/topics/{name}/endpoints", tenant: add),
            Route(.delete, "/v2/topics/{name}/endpoints", tenant: removeEndpoints),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let found = try await groups.urlGroups(of: tenant)
        var writer = JSONWriter()
        writer.array { writer in for group in found { writer.object { Self.write(group, &$0) } } }
        return .json(writer.bytes)
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        guard let group = try await groups.urlGroup(name(call), of: tenant) else { throw QStashTarget.noGroup }
        return .json { Self.write(group, &$0) }
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await groups.removeURLGroup(name(call), of: tenant)
        return Self.done
    }

    private func add(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let name = try name(call)
        let endpoints = try await endpoints(call) { URLGroup.Endpoint($0) }
        guard try await groups.add(endpoints, toURLGroup: name, of: tenant) else {
            throw Problem(
                .invalidParameter,
                "A URL group has \(URLGroup.maximumEndpoints) endpoints at most, and all groups together have "
                    + "\(URLGroup.maximumEndpointsOfTenant).")
        }
        return Self.done
    }

    private func removeEndpoints(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let name = try name(call)
        let named = try await endpoints(call) { object in
            let url = object["url"]?.string(maximumLength: URLGroup.maximumURL)
            if object["url"] == nil, object["name"] == nil { _ = object.required("url") }
            return (url: url, name: URLGroup.Endpoint.name(object))
        }
        _ = try await groups.remove(
            urls: named.compactMap(\.url), names: named.compactMap { $0.url == nil ? $0.name : nil },
            fromURLGroup: name, of: tenant)
        return Self.done
    }

    private func endpoints<Element>(
        _ call: Call, _ read: (JSONObjectReader) -> Element?
    ) async throws -> [Element] {
        let json = try JSONParser.parse(try await call.body(upTo: Self.maximumBody).readableBytesView)
        let check = InputCheck()
        let all =
            JSONReader(json, check: check).object(of: ["endpoints"])?.required("endpoints")?
            .array(maximum: URLGroup.maximumEndpoints) ?? []
        let endpoints = all.compactMap { $0.object(of: ["url", "name"]).flatMap(read) }
        try check.finish()
        return endpoints
    }

    private func name(_ call: Call) throws(Problem) -> String {
        try QStashTarget.name(call.decodedParameter)
    }

    private static func write(_ group: URLGroup, _ writer: inout JSONWriter) {
        writer.member("name", group.name)
        writer.member("createdAt", group.createdAt.microseconds / 1000)
        writer.member("updatedAt", group.updatedAt.microseconds / 1000)
        writer.member(
            "endpoints",
            array: { writer in
                for endpoint in group.endpoints {
                    writer.object { writer in
                        writer.member("url", endpoint.url)
                        writer.member("name", endpoint.name)
                    }
                }
            })
    }

    private static var done: Response { .json { _ in } }
}
