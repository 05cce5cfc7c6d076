import FetchJobs
import HTTPTypes
import Hummingbird

/// One operation: a method on a path, and who may call it.
struct Route: Sendable {
    enum Handler: Sendable {
        /// For everyone.
        case open(@Sendable (Call) async throws -> Response)
        /// For whom an API key speaks for.
        case tenant(@Sendable (Call, Tenant.ID) async throws -> Response)
        /// For whom a key of an operator speaks for.
        case admin(@Sendable (Call) async throws -> Response)
    }

    let method: HTTPRequest.Method
    /// As `openapi.yaml` writes it, with at most one parameter: `/v1/jobs/{id}`.
    let path: String
    let handler: Handler
    /// It gives the node work that it had not, or bytes to keep.
    private(set) var takesWork = false

    /// The same route, refused while the node can take no more.
    func takingWork() -> Route {
        var route = self
        route.takesWork = true
        return route
    }

    init(_ method: HTTPRequest.Method, _ path: String, _ handler: @escaping @Sendable (Call) async throws -> Response) {
        self.method = method
        self.path = path
        self.handler = .open(handler)
    }

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        tenant handler: @escaping @Sendable (Call, Tenant.ID) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.handler = .tenant(handler)
    }

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        admin handler: @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.handler = .admin(handler)
    }
}

/// Finds the resource that a path names.
struct RouteTable: Sendable {
    /// The routes of one path.
    struct Resource: Sendable {
        let path: String
        var routes: [HTTPRequest.Method: Route] = [:]

        /// The route that answers a method: HEAD is answered as GET without the body.
        func route(for method: HTTPRequest.Method) -> Route? {
            routes[method] ?? (method == .head ? routes[.get] : nil)
        }

        /// The value of `Allow`.
        var allow: String {
            var methods = Set(routes.keys.map(\.rawValue) + ["OPTIONS"])
            if routes[.get] != nil { methods.insert("HEAD") }
            return methods.sorted().joined(separator: ", ")
        }
    }

    private var fixed: [String: Resource] = [:]
    /// The text before the parameter, the text after it, and the resource.
    private var templates: [(prefix: String, suffix: String, resource: Resource)] = []

    init(_ routes: [Route]) {
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            var resource = Resource(path: path)
            for route in routes { resource.routes[route.method] = route }
            guard let open = path.firstIndex(of: "{"), let close = path.firstIndex(of: "}") else {
                fixed[path] = resource
                continue
            }
            templates.append((String(path[..<open]), String(path[path.index(after: close)...]), resource))
        }
        // The longest text decides, so that "…/{id}/body" is tried before "…/{id}".
        templates.sort { ($0.prefix.count, $0.suffix.count) > ($1.prefix.count, $1.suffix.count) }
    }

    /// The resource at a path and what stands there for its parameter.
    func resource(at path: String) -> (Resource, parameter: String)? {
        if let resource = fixed[path] { return (resource, "") }
        for template in templates {
            let length = template.prefix.utf8.count + template.suffix.utf8.count
            guard path.utf8.count > length, path.hasPrefix(template.prefix), path.hasSuffix(template.suffix) else {
                continue
            }
            let parameter = path.dropFirst(template.prefix.count).dropLast(template.suffix.count)
            guard !parameter.utf8.contains(UInt8(ascii: "/")) else { continue }
            return (template.resource, String(parameter))
        }
        return nil
    }
}
