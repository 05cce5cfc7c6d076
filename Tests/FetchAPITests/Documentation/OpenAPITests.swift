import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct OpenAPITests {
    private let document: OpenAPINode

    init() throws { document = try OpenAPINode(document: ServiceRoutes.openAPI) }

    /// The dashboard is for people, the script of a page for it, and what nodes ask each other for them alone; they are
    /// no part of the API.
    private static func isPage(_ path: String) -> Bool {
        path == "/" || path.hasPrefix("/dashboard") || path == "/docs/docs.js" || path.hasPrefix("/nodes/")
    }

    @Test func `every route is described and every description has a route`() async throws {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        let routes = Server.routes(server.ports, server.configuration, authenticator)
        let registered = routes.filter { !Self.isPage($0.path) }.map { "\($0.method.rawValue) \($0.path)" }
        let described = document["paths"].members.flatMap { path, item in
            item.members.filter { $0.name != "parameters" }.map { "\($0.name.uppercased()) \(path)" }
        }
        #expect(registered.sorted() == described.sorted())
    }

    // Proves: SEC-40.
    @Test func `a route asks for a key and a scope exactly as its description does`() async throws {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        var named: Set<String> = []
        for route in Server.routes(server.ports, server.configuration, authenticator) where !Self.isPage(route.path) {
            let name = "\(route.method.rawValue) \(route.path)"
            let operation = document["paths"][route.path][route.method.rawValue.lowercased()]
            let security = operation["security"].elements
            // Of several calls each has a key of its own, in the body.
            let isOpen =
                switch route.handler {
                case .open, .calls: true
                case .tenant, .admin: false
                }
            if isOpen {
                #expect(operation.members.contains { $0.name == "security" } && security.isEmpty, "\(name)")
                #expect(route.access == nil && Access.table[name] == nil, "\(name)")
            } else {
                let scopes = security.flatMap { $0["apiKey"].elements.compactMap(\.text) }
                #expect(scopes == [try #require(route.access, "\(name)").scope.rawValue], "\(name)")
                named.insert(name)
            }
            if case .admin = route.handler { #expect(route.access?.scope == .admin, "\(name)") }
        }
        #expect(Set(Access.table.keys) == named, "the table has no operation that is not there")
        let described = document["components"]["schemas"]["Scope"]["enum"].elements.compactMap(\.text)
        #expect(described == Scope.allCases.map(\.rawValue))
    }

    @Test func `a route that takes work in has the answers of a node that takes no more`() async throws {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        let routes = Server.routes(server.ports, server.configuration, authenticator).filter { $0.work != nil }
        #expect(!routes.isEmpty)
        for route in routes {
            let operation = document["paths"][route.path][route.method.rawValue.lowercased()]
            let described = Set(operation["responses"].members.map(\.name))
            for overload in Overload.allCases {
                let status = Problem(overload).code.status.code
                #expect(described.contains("\(status)"), "\(route.method.rawValue) \(route.path) has no \(status)")
            }
        }
    }

    @Test func `an operation takes an Idempotency-Key when it stores the key, or its responses are kept`()
        async throws
    {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        let routes = Server.routes(server.ports, server.configuration, authenticator)
        for route in routes where route.method == .post && route.path.hasPrefix("/v1/") {
            let operation = document["paths"][route.path]["post"]
            let takesKeys = operation["parameters"].elements.contains { $0["name"].text == "Idempotency-Key" }
            let isStored = IdempotentRequests.storingKeys.contains(route.path)
            #expect(takesKeys == (isStored || route.keepsResponses), "\(route.path)")
            #expect(!isStored || !route.keepsResponses, "\(route.path)")
            guard route.keepsResponses else { continue }
            #expect(operation["responses"]["409"].exists && operation["responses"]["422"].exists, "\(route.path)")
        }
    }

    @Test func `the codes, states and events described are those there are`() {
        func values(_ name: String) -> [String] {
            document["components"]["schemas"][name]["enum"].elements.compactMap(\.text)
        }
        #expect(values("ProblemCode") == ProblemCode.allCases.map(\.rawValue))
        #expect(values("JobState") == JobState.allCases.map(\.rawValue))
        #expect(values("WebhookEvent") == WebhookEvent.allCases.map(\.rawValue))
    }

    @Test func `the examples of requests are accepted`() throws {
        let jobs = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["examples"]
        #expect(!jobs.members.isEmpty)
        for (name, example) in jobs.members {
            #expect(throws: Never.self, "\(name)") {
                try JobSpec(json: JSONParser.parse(example["value"].json.utf8))
            }
        }
        let endpoints = document["paths"]["/v1/webhooks/endpoints"]["post"]["requestBody"]["content"]
        for (name, example) in endpoints["application/json"]["examples"].members {
            #expect(throws: Never.self, "\(name)") {
                try WebhookEndpointSpec(json: JSONParser.parse(example["value"].json.utf8))
            }
        }
    }

    @Test func `every example keeps to its schema`() {
        var count = 0
        for (path, item) in document["paths"].members {
            for (method, operation) in item.members where method != "parameters" {
                let contents =
                    operation["requestBody"]["content"].members
                    + operation["responses"].members.flatMap { $0.node["content"].members }
                for (type, media) in contents where type.hasSuffix("json") {
                    for (name, example) in media["examples"].members {
                        count += 1
                        let faults = SchemaCheck.faults(of: example["value"], against: media["schema"])
                        #expect(faults.isEmpty, "\(method) \(path) \(name)")
                    }
                }
            }
        }
        #expect(count > 20)
    }
}

/// As much of JSON Schema as `openapi.yaml` uses.
private enum SchemaCheck {
    static func faults(of value: OpenAPINode, against schema: OpenAPINode, at place: String = "") -> [String] {
        var faults: [String] = []
        for part in schema["allOf"].elements { faults += self.faults(of: value, against: part, at: place) }
        let alternatives = schema["oneOf"].elements
        let matches = alternatives.count { self.faults(of: value, against: $0, at: place).isEmpty }
        if !alternatives.isEmpty, matches != 1 { faults.append("\(place): \(matches) of oneOf") }
        let types = ([schema["type"].text] + schema["type"].elements.map(\.text)).compactMap(\.self)
        if !types.isEmpty, !types.contains(where: { isOf($0, value) }) { faults.append("\(place): is no \(types)") }
        let choices = schema["enum"].elements.compactMap(\.text)
        if !choices.isEmpty, !choices.contains(value.text ?? "") { faults.append("\(place): is none of \(choices)") }
        if let pattern = schema["pattern"].text, let text = value.text,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            faults.append("\(place): does not match \(pattern)")
        }
        let members = schema["properties"].members
        for name in schema["required"].elements.compactMap(\.text)
        where !value.members.contains(where: { $0.name == name }) { faults.append("\(place)/\(name): is missing") }
        for (name, member) in value.members {
            if let schema = members.first(where: { $0.name == name })?.node {
                faults += self.faults(of: member, against: schema, at: "\(place)/\(name)")
            } else if schema["additionalProperties"].text == "false" {
                faults.append("\(place)/\(name): is unknown")
            }
        }
        for (index, element) in value.elements.enumerated() where !schema["items"].members.isEmpty {
            faults += self.faults(of: element, against: schema["items"], at: "\(place)/\(index)")
        }
        return faults
    }

    private static func isOf(_ type: String, _ value: OpenAPINode) -> Bool {
        let json = try? JSONParser.parse(value.json.utf8)
        return switch (type, json) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("null", .null),
            ("number", .number):
            true
        case ("integer", .number(let number)): number.integer != nil
        default: false
        }
    }
}
