import FetchJobs
import FetchWorker
import TestSupport
import Testing

@testable import FetchAPI
@testable import fetchd

private typealias Configuration = FetchJobs.Configuration

/// The defaults of the configuration in `openapi.yaml` are those of a service whose operator has set nothing.
@Suite struct ConfigurationDefaultTests {
    /// Members whose default the document tells in words: it depends on the job, or has the version of the service.
    private static let inWords: Set<String> = ["/cookies/jar", "/request/headers"]

    /// The defaults of a delegate, which hold only where there is one.
    private static let ofDelegates: [String: JSONValue] = [
        "/delegate/timeout": .number(JSONNumber(Configuration.Delegate.defaultTimeout.seconds)),
        "/delegate/otherwise": .object([]),
        "/delegate/whenUnreachable": .string(Configuration.Delegate.WhenUnreachable.wait.rawValue),
        "/delegate/maximumQuestions": .number(JSONNumber(Int64(Configuration.Delegate.defaultMaximumQuestions))),
    ]

    @Test func `the described defaults are those that a session has which sets nothing`() throws {
        let described = try Self.described()
        let effective = try Self.effective(.default).merging(Self.ofDelegates) { $1 }
        #expect(described.count > 30)
        for (pointer, value) in described {
            #expect(effective[pointer].map { value.isSame(as: $0) } == true, "\(pointer)")
        }
        let others = effective.filter { described[$0.key] == nil && !$0.value.isNothing }
        #expect(Set(others.keys) == Self.inWords)
    }

    @Test(arguments: SessionSpec.Kind.allCases)
    func `a session in the background may take a week, and kinds differ in nothing else`(
        _ kind: SessionSpec.Kind
    ) throws {
        let standard = try Self.effective(.default)
        let differing = try Self.effective(kind).filter { $0.value != standard[$0.key] }
        let resource = "/timeouts/timeoutIntervalForResource"
        #expect(Set(differing.keys) == (kind == .background ? [resource] : []))
        let week = JSONValue.number(JSONNumber(Int64(604_800)))
        #expect((differing[resource] ?? week).isSame(as: week))
    }

    // MARK: The described defaults

    private static func described() throws -> [String: JSONValue] {
        let document = try OpenAPINode(document: ServiceRoutes.openAPI)
        var values: [String: JSONValue] = [:]
        try collect(document["components"]["schemas"]["LoadConfiguration"], at: "", &values)
        return values
    }

    private static func collect(_ schema: OpenAPINode, at pointer: String, _ values: inout [String: JSONValue]) throws {
        // The rules of a list and the answers of a map are bodies of their own.
        for (name, member) in schema["properties"].members {
            let inner = "\(pointer)/\(name)"
            let form = member["allOf"].elements.first ?? member
            for node in [form, member] {
                guard let value = node.members.first(where: { $0.name == "default" }) else { continue }
                values[inner] = try JSONParser.parse(value.node.json.utf8)
            }
            try collect(form, at: inner, &values)
        }
    }

    // MARK: The effective defaults

    /// The values that a session of a kind has which sets nothing, in a service whose operator has set nothing.
    private static func effective(_ kind: SessionSpec.Kind) throws -> [String: JSONValue] {
        let standard = Configuration.ofJobs(Settings().session.defaults(for: kind))
        let effective = EffectiveConfiguration(session: nil, standard: standard)
        var values: [String: JSONValue] = [:]
        for group in try JSONParser.parse(JSONWriter.object(effective.write)).allMembers {
            for member in group.value.allMembers {
                guard let value = member.value.member("value") else { continue }
                value.collect(at: "/\(group.name)/\(member.name)", &values)
            }
        }
        return values
    }
}

extension JSONValue {
    fileprivate var allMembers: [JSONMember] { if case .object(let members) = self { members } else { [] } }

    /// There is no value, or none of several.
    fileprivate var isNothing: Bool { [.null, .array([]), .object([])].contains(self) }

    /// Whether it has the same value, numbers in whatever form.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        if case .number(let one) = self, case .number(let other) = other { return one.double == other.double }
        return self == other || isNothing && other.isNothing
    }

    fileprivate func collect(at pointer: String, _ values: inout [String: JSONValue]) {
        if allMembers.isEmpty { values[pointer] = self }
        for member in allMembers { member.value.collect(at: "\(pointer)/\(member.name)", &values) }
    }
}
