import FetchJobs
import HTTPTypes
import Hummingbird

/// One operation: a method on a path, and who may call it.
struct Route: Sendable {
    enum Handler: Sendable {
        /// For everyone.
        case open(@Sendable (Call) async throws -> Response)
        /// For requests that have several calls in them, each with a key of its own, which the responder admits.
        case calls(@Sendable (Call, Responder) async throws -> Response)
        /// For clients with an API key that has the scope, as its tenant.
        case tenant(@Sendable (Call, Tenant.ID) async throws -> Response)
        /// For operators: the same, and for no tenant.
        case admin(@Sendable (Call) async throws -> Response)
    }

    let method: HTTPRequest.Method
    /// As `openapi.yaml` writes it; a parameter is a whole segment: `/v1/jobs/{id}/body`.
    let path: String
    let handler: Handler
    /// What it asks of a key; nil on routes for everyone.
    let access: Access?
    /// What the node has to do or to keep that it had not before; nil for nothing.
    private(set) var work: Work?

    /// Whether a repeat of it under an Idempotency-Key is answered by ``IdempotentRequests``.
    private(set) var keepsResponses = false

    /// Whether a ``StreamToken`` in the query may stand for a key.
    private(set) var takesStreamTokens = false

    /// The same route, for browsers too, which have a token in place of a key.
    var takingStreamTokens: Route {
        var route = self
        route.takesStreamTokens = true
        return route
    }

    enum Work: Sendable {
        /// Loads.
        case jobs
        /// One load, of which the route itself says whether its tenant has to have room for what it leaves.
        case job
        /// Bytes.
        case bytes
    }

    /// The same route, refused while the node can take no more, and for jobs, their tenant too.
    func taking(_ work: Work) -> Route {
        var route = self
        route.work = work
        return route
    }

    init(_ method: HTTPRequest.Method, _ path: String, _ handler: @escaping @Sendable (Call) async throws -> Response) {
        self.method = method
        self.path = path
        self.handler = .open(handler)
        access = nil
    }

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        calls handler: @escaping @Sendable (Call, Responder) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.handler = .calls(handler)
        access = nil
    }

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        tenant handler: @escaping @Sendable (Call, Tenant.ID) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.handler = .tenant(handler)
        access = Access.of(method, path)
        keepsResponses = IdempotentRequests.covers(method, path)
    }

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        admin handler: @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.handler = .admin(handler)
        access = Access.of(method, path)
    }
}

/// Finds the resource that a path names.
struct RouteTable: Sendable {
    /// The routes of one path.
    struct Resource: Sendable {
        let path: String
        var routes: [HTTPRequest.Method: Route] = [:]

        /// Whether requests of it are in traces.
        ///
        /// Those of the API are, and forms of the dashboard, which do the same; pages and checks are in none.
        func isTraced(_ method: HTTPRequest.Method) -> Bool {
            path.hasPrefix("/v1/") || path.hasPrefix("/dashboard/") && method == .post
        }

        /// Whether it is asked of the node itself, by other nodes or by who looks after it.
        var isOfEveryNode: Bool {
            ["/healthz", "/readyz", "/version", "/metrics"].contains(path) || path.hasPrefix("/nodes/")
        }

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
    /// The resources of paths with parameters, and the segments of each; nil stands for a parameter.
    private var templates: [(segments: [Substring?], takesRest: Bool, resource: Resource)] = []
    /// The parameter that is the rest of a path, with its slashes.
    private static let rest = "{destination}"

    /// The routes of some fixed paths.
    func routes(_ isWanted: (String) -> Bool) -> [Route] {
        fixed.filter { isWanted($0.key) }.flatMap { $0.value.routes.values }
    }

    init(_ routes: [Route]) {
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            var resource = Resource(path: path)
            for route in routes { resource.routes[route.method] = route }
            guard path.contains("{") else {
                fixed[path] = resource
                continue
            }
            let segments = Self.segments(of: path).map { $0.hasPrefix("{") ? nil : $0 }
            templates.append((segments, path.hasSuffix(Self.rest), resource))
        }
        // Of two that fit, the one with fewer parameters is chosen, and the rest of a path comes last.
        templates.sort { left, right in
            let counts = (left.segments.count { $0 == nil }, right.segments.count { $0 == nil })
            return counts.0 == counts.1 ? !left.takesRest && right.takesRest : counts.0 < counts.1
        }
    }

    /// The resource at a path, and the values of its parameters.
    func resource(at path: String) -> (Resource, parameters: [String])? {
        if let resource = fixed[path] { return (resource, []) }
        let all = Self.segments(of: path)
        for template in templates {
            let isLonger = template.takesRest && all.count > template.segments.count
            let segments = isLonger ? Self.segments(of: path, joinedAt: template.segments.count) : all
            guard template.segments.count == segments.count else { continue }
            let fits = zip(template.segments, segments).allSatisfy { known, segment in
                known.map { $0 == segment } ?? !segment.isEmpty
            }
            guard fits else { continue }
            let parameters = zip(template.segments, segments).filter { $0.0 == nil }.map { String($0.1) }
            return (template.resource, parameters)
        }
        return nil
    }

    /// - Parameter count: The number of the segment that is all the rest; nil for none.
    private static func segments(of path: String, joinedAt count: Int? = nil) -> [Substring] {
        path.split(separator: "/", maxSplits: count.map { $0 - 1 } ?? .max, omittingEmptySubsequences: false)
    }
}
