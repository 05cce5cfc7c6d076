/// How the tasks of a ``RemoteURLSession`` behave.
public struct RemoteURLSessionConfiguration: Sendable {
    /// The name of a background session, by which it is found again; nil of others.
    public let identifier: String?
    /// How to load: a `LoadConfiguration` of the API, such as `["redirects": ["maximum": 3]]`.
    ///
    /// A task of a session that is not a background one makes one attempt, unless `retry` says otherwise here.
    public var loading: JSONValue = [:]
    /// How long no byte may move either way; nil, the default, is what the service has.
    public var timeoutIntervalForRequest: Duration?
    /// How long a whole load may take; nil, the default, is what the service has.
    public var timeoutIntervalForResource: Duration?
    /// How long a load waits for an answer of the delegate, and goes on by its configuration then; 5 minutes.
    ///
    /// The client may be away for as long. The service holds loads that cannot be parked for 5 minutes at most.
    public var timeoutForAnswers: Duration = .seconds(300)

    private init(identifier: String?) { self.identifier = identifier }

    /// Tasks that end with their process, in the default session of the tenant.
    public static var `default`: RemoteURLSessionConfiguration { RemoteURLSessionConfiguration(identifier: nil) }

    /// Downloads and uploads over http and https that go on without the process, in a session that is found again.
    ///
    /// One process at a time is to have a session of an identifier: each is told of all its tasks.
    ///
    /// - Parameter identifier: The name, of 1 to 255 characters.
    public static func background(withIdentifier identifier: String) -> RemoteURLSessionConfiguration {
        RemoteURLSessionConfiguration(identifier: identifier)
    }

    var isBackground: Bool { identifier != nil }

    /// What a job says of how to load.
    ///
    /// - Parameter delegate: Whose kinds of questions are asked.
    func document(for delegate: (any RemoteURLSessionDelegate)?, idle: Duration?) -> JSONValue {
        var members = loading.members
        members["delegate"] = [
            "via": "api", "timeout": .number(timeoutForAnswers / .seconds(1)),
            "questions": .array(questions(of: delegate).map { .string($0.rawValue) }),
        ]
        if !isBackground, members["retry"] == nil { members["retry"] = ["maximumAttempts": 1] }
        var timeouts = members["timeouts"]?.members ?? [:]
        let intervals = [
            "timeoutIntervalForRequest": idle ?? timeoutIntervalForRequest,
            "timeoutIntervalForResource": timeoutIntervalForResource,
        ]
        for (name, interval) in intervals {
            timeouts[name] = interval.map { .number($0 / .seconds(1)) } ?? timeouts[name]
        }
        members["timeouts"] = .object(timeouts)
        return .object(members)
    }

    /// What the delegate has methods for; of the rest nobody is asked.
    private func questions(of delegate: (any RemoteURLSessionDelegate)?) -> [Question.Kind] {
        var kinds: [Question.Kind] = []
        if delegate is any RemoteURLSessionRedirectDelegate, !isBackground {
            kinds += [.willPerformHTTPRedirection, .didCanonicalize]
        }
        if delegate is any RemoteURLSessionChallengeDelegate {
            kinds += [.didReceiveChallenge, .didReceiveServerTrust]
        }
        if delegate is any RemoteURLSessionResponseDelegate { kinds.append(.didReceiveResponse) }
        return kinds
    }
}
