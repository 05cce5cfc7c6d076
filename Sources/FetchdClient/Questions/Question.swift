public import FetchEngine
public import Foundation

/// What a load has come to and asks, with the facts that an answer is chosen by and no secret.
public struct Question: Sendable {
    /// What is to be chosen; an open set.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The word.
        public let rawValue: String
        /// Makes a kind of its word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The word.
        public var description: String { rawValue }

        /// A server redirects.
        public static let willPerformHTTPRedirection = Self(rawValue: "willPerformHTTPRedirection")
        /// The URL got another form before it was sent.
        public static let didCanonicalize = Self(rawValue: "didCanonicalize")
        /// A server or proxy asks who is there.
        public static let didReceiveChallenge = Self(rawValue: "didReceiveChallenge")
        /// A certificate chain is not trusted.
        public static let didReceiveServerTrust = Self(rawValue: "didReceiveServerTrust")
        /// The response is there.
        public static let didReceiveResponse = Self(rawValue: "didReceiveResponse")
    }

    /// Where a question is in its life.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It waits for an answer.
        case open
        /// It has one.
        case answered
        /// It ended without one.
        case closed
    }

    /// Its id, `qst_…`.
    public let id: String
    /// The job whose load asks.
    public let job: String
    /// What is to be chosen.
    public let kind: Kind
    /// Whether it waits for an answer.
    public let state: State
    /// When it was asked.
    public let askedAt: Date
    /// No answer is taken from then on.
    public let deadline: Date
    /// The words that are possible here.
    public let answers: [String]
    /// The request at hand; sensitive fields have no value.
    public let request: Request
    /// What the answer is chosen by, as the API writes it for this kind.
    public let facts: JSONValue
}

extension Question: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, job, kind, state, askedAt, deadline, answers, request, facts
    }

    /// Reads a question.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        job = try container.decode(String.self, forKey: .job)
        kind = try container.decode(Kind.self, forKey: .kind)
        state = try container.decode(State.self, forKey: .state)
        askedAt = try container.decode(Date.self, forKey: .askedAt)
        deadline = try container.decode(Date.self, forKey: .deadline)
        answers = try container.decode([String].self, forKey: .answers)
        request = try container.decode(RequestDocument.self, forKey: .request).request()
        facts = try container.decode(JSONValue.self, forKey: .facts)
    }
}
