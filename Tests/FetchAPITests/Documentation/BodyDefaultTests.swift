import FetchEngine
import FetchJobs
import TestSupport
import Testing

@testable import FetchAPI

/// The defaults in `openapi.yaml` are those of the readers: a body without a member is read as one with its default.
@Suite struct BodyDefaultTests {
    struct Body: Sendable, CustomTestStringConvertible {
        let schema: String
        /// Reads a body; the values of two are equal when both mean the same.
        let read: @Sendable (JSONValue) throws -> any Equatable

        var testDescription: String { schema }
    }

    private static let bodies: [Body] = [
        Body(schema: "JobSpec") { try JobSpec(json: $0) },
        Body(schema: "JobChange") { try JobChange(json: $0) },
        Body(schema: "ScheduleSpec") { try ScheduleSpec(json: $0) },
        Body(schema: "GroupSpec") { try JobGroupSpec(json: $0) },
        Body(schema: "SessionSpec") { try SessionSpec(json: $0) },
        Body(schema: "CookieSubmission") { json in
            let submission = try CookieSubmission(json: json)
            let cookies = submission.cookies.map {
                [
                    $0.name, $0.value, $0.domain, $0.path, "\($0.isHostOnly)", "\($0.isSecure)", "\($0.isHTTPOnly)",
                    "\(String(describing: $0.sameSite))",
                ]
            }
            return cookies + [["\(submission.session)"]]
        },
        Body(schema: "CredentialSubmission") { json in
            // The sample has the method of ftp, which goes with no password over https.
            let method = JSONMember("authenticationMethod", .string("httpBasic"))
            let submission = try CredentialSubmission(
                json: json.merging(.object([JSONMember("protectionSpace", .object([method]))])))
            return [
                "\(submission.session)", "\(submission.space)", submission.credential.persistence.rawValue,
                "\(submission.isDefault)",
            ]
        },
        Body(schema: "CacheSubmission") { json in
            let submission = try CacheSubmission(json: json)
            let answer = submission.answer
            return [
                "\(submission.session)", "\(submission.request.headerFields)", "\(answer.response.status)",
                "\(answer.response.headerFields)", "\(answer.data)", "\(answer.userInfo.sorted { $0.key < $1.key })",
                answer.storagePolicy.rawValue,
            ]
        },
        Body(schema: "HostLimits") { try SharedLimits(json: $0, of: .host) },
        Body(schema: "FlowLimits") { try SharedLimits(json: $0, of: .flow) },
        Body(schema: "WebhookEndpointSpec") { json in
            // What is not polled has a URL.
            let url = JSONMember("url", .string("https://a.example/"))
            let spec = try WebhookEndpointSpec(
                json: json.member("polled") == .bool(true) ? json : json.merging(.object([url])))
            return [spec.url?.description ?? "polled", "\(spec.events)", "\(String(describing: spec.clientIdentity))"]
        },
        Body(schema: "SecretRotation") { try SecretRotation(json: $0) },
    ]

    @Test(arguments: bodies)
    func `a member that is left out is read as its described default, and no other has one`(_ body: Body) throws {
        let document = try OpenAPINode(document: ServiceRoutes.openAPI)
        let probe = DefaultProbe(read: body.read)
        #expect(probe.value(document["components"]["schemas"][body.schema].sample) != nil, "the sample is refused")
        let faults = probe.faults(of: document["components"]["schemas"][body.schema], at: "", in: { $0 })
        #expect(faults.isEmpty)
    }

    @Test func `defaults that are wrong, missing, or of no reader are found`() throws {
        func read(_ json: JSONValue) throws -> any Equatable {
            let object = JSONReader(json, check: InputCheck()).object(of: ["count", "quick", "name"])
            let count = object?["count"]?.integer(in: 0...9) ?? 5
            return [object?["name"]?.string() ?? "", "\(count)", "\(object?["quick"]?.bool() ?? true)"]
        }
        let document = """
            {"type": "object", "additionalProperties": false, "properties": {
              "count": {"type": "integer", "minimum": 0, "maximum": 9, "default": 4},
              "quick": {"type": "boolean"},
              "name": {"type": "string", "default": "x"}}}
            """
        let schema = try OpenAPINode(document: document)
        let faults = DefaultProbe(read: { try read($0) }).faults(of: schema, at: "", in: { $0 })
        #expect(
            faults == [
                "/count: is not 4 when it is left out", "/quick: is true when it is left out, which is not described",
                "/name: is not \"x\" when it is left out",
            ])
    }
}

/// Reads bodies with and without the members of a schema.
private struct DefaultProbe {
    /// Members that a configuration leaves out come from its session and then the service: another test looks at these.
    ///
    /// Callbacks have two of them by themselves.
    private static let configured: Set = ["configuration", "serverTrust", "retry", "timeoutIntervalForRequest"]

    let read: (JSONValue) throws -> any Equatable

    /// - Parameter body: A body with a value at the place, and with all that it needs beside it.
    func faults(of schema: OpenAPINode, at pointer: String, in body: (String) -> String) -> [String] {
        let schema = schema.whole
        let forms = schema["oneOf"].elements.map(\.whole).filter { $0.types.contains("object") }
        if !forms.isEmpty { return forms.flatMap { faults(of: $0, at: pointer, in: body) } }
        if schema.types.contains("array") {
            return faults(of: schema["items"], at: "\(pointer)/0", in: { body("[\($0)]") })
        }
        return schema["properties"].members.flatMap { name, member -> [String] in
            guard !Self.configured.contains(name) else { return [] }
            let inner = "\(pointer)/\(name)"
            let faults = faults(of: member, at: inner, in: { body(schema.object(with: name, $0)) })
            let isRequired = schema["required"].elements.contains { $0.text == name }
            guard !isRequired, let without = value(body(schema.object(without: name))) else { return faults }
            func isDefault(_ text: String) -> Bool {
                value(body(schema.object(with: name, text))).map { Self.areEqual($0, without) } ?? false
            }
            if let described = member.described {
                return faults + (isDefault(described) ? [] : ["\(inner): is not \(described) when it is left out"])
            }
            return faults
                + member.whole.choices.filter(isDefault)
                .map { "\(inner): is \($0) when it is left out, which is not described" }
        }
    }

    /// The value that is read from a body; nil when it is refused.
    func value(_ body: String) -> (any Equatable)? { try? read(JSONParser.parse(body.utf8)) }

    private static func areEqual<Value: Equatable>(_ one: Value, _ other: any Equatable) -> Bool {
        one == other as? Value
    }
}

extension OpenAPINode {
    /// The default, as JSON.
    fileprivate var described: String? {
        [self, whole].lazy.compactMap { $0.members.first { $0.name == "default" }?.node.json }.first
    }

    /// Values that a reader may take in place of a member that is left out.
    fileprivate var choices: [String] {
        let choices = self["enum"].elements.map(\.json)
        if !choices.isEmpty { return choices }
        switch types.first {
        case "boolean": return ["true", "false"]
        case "integer", "number": return [self["minimum"].text, self["maximum"].text].compactMap(\.self)
        default: return []
        }
    }
}
