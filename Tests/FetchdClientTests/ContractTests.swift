import Foundation
import Testing
import Yams

@testable import FetchdClient

/// What the client reads and writes is in openapi.yaml.
@Suite struct ContractTests {
    private let schemas: [String: [String: Any]] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = (try? String(contentsOf: root.appending(path: "openapi.yaml"), encoding: .utf8)) ?? ""
        let document = (try? Yams.load(yaml: text)) as? [String: Any]
        let components = document?["components"] as? [String: Any]
        return components?["schemas"] as? [String: [String: Any]] ?? [:]
    }()

    private static func names<Key: CaseIterable & RawRepresentable<String>>(_ type: Key.Type) -> [String] {
        Key.allCases.map(\.rawValue)
    }

    private static let members: [(schema: String, names: [String])] = [
        ("Job", names(Job.CodingKeys.self)), ("Progress", names(Job.Progress.CodingKeys.self)),
        ("BodySummary", names(Job.Body.CodingKeys.self)), ("DownloadedFile", names(Job.File.CodingKeys.self)),
        ("Attempt", names(Job.AttemptDocument.CodingKeys.self)), ("JobSummary", names(JobSummary.CodingKeys.self)),
        ("JobSpec", names(JobOptions.Member.self)), ("Response", names(ResponseDocument.CodingKeys.self)),
        ("Request", names(RequestDocument.CodingKeys.self) + ["body", "cachePolicy", "mainDocumentURL"]),
        ("LoadError", names(ErrorDocument.CodingKeys.self)),
        ("TransferMetrics", names(TransferDocument.CodingKeys.self)),
        ("StoredProtectionSpace", names(SpaceDocument.CodingKeys.self)),
        ("Header", names(FieldDocument.CodingKeys.self)),
        ("Question", names(Question.CodingKeys.self)), ("Session", names(ServiceSession.CodingKeys.self)),
        ("SessionEvent", names(SessionEvent.CodingKeys.self)),
        ("CredentialSecret", ["user", "password", "bearerToken", "persistence"]),
        ("RequestChange", ["url", "method", "headers", "body"]), ("Problem", ["title", "code", "detail", "errors"]),
    ]

    @Test(arguments: members.map(\.schema))
    func `every member that the client knows is one of the schema`(_ schema: String) throws {
        let known = try #require(Self.members.first { $0.schema == schema }).names
        let properties = try #require(schemas[schema]?["properties"] as? [String: Any])
        #expect(Set(known).subtracting(properties.keys).isEmpty)
    }

    @Test(arguments: [
        (
            "JobState",
            ["scheduled", "queued", "running", "awaitingDecision", "suspended", "succeeded", "failed", "cancelled"]
        ),
        ("QuestionState", Question.State.allCases.map(\.rawValue)),
    ])
    func `the words are those of the schema`(_ schema: String, _ words: [String]) throws {
        #expect(try #require(schemas[schema]?["enum"] as? [String]) == words)
    }

    @Test func `the answers that the client gives are words of the schema`() throws {
        let words = try #require(schemas["AnswerWord"]?["enum"] as? [String])
        let given = [
            "performDefaultHandling", "follow", "returnResponse", "cancel", "useCredential",
            "continueWithoutCredential",
            "rejectProtectionSpace", "accept", "reject", "allow", "becomeDownload",
        ]
        #expect(Set(given).isSubset(of: words))
        let kinds = try #require(schemas["QuestionKind"]?["enum"] as? [String])
        let asked: [Question.Kind] = [
            .willPerformHTTPRedirection, .didCanonicalize, .didReceiveChallenge, .didReceiveServerTrust,
            .didReceiveResponse,
        ]
        #expect(Set(asked.map(\.rawValue)).isSubset(of: kinds))
    }
}
