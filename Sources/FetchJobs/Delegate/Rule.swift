import FetchEngine
package import HTTPTypes

/// An answer written beforehand, with the conditions under which it is given.
package struct Rule: Sendable, Equatable {
    /// Its name, which is recorded with each of its decisions.
    package let name: String?
    package let on: Question.Kind
    package let conditions: Question.Conditions
    package let answer: Answer

    package init(
        name: String? = nil, on kind: Question.Kind, when conditions: [Question.Condition] = [], _ answer: Answer
    ) {
        self.name = name
        on = kind
        self.conditions = Question.Conditions(conditions)
        self.answer = answer
    }

    /// So many rules a configuration has at most.
    package static let maximumRules = 64
}

extension Rule {
    /// - Parameter place: Where the rule stands.
    init?(reader: JSONReader, in place: Answer.Place = .configuration) {
        guard let object = reader.object(of: ["name", "on", "when", "answer"]) else { return nil }
        name = object["name"].flatMap { Self.name($0) }
        // The kind is read first: the other members depend on it.
        guard let kind = object.required("on")?.oneOf(Question.Kind.self) else { return nil }
        on = kind
        conditions = object["when"].map { Question.Conditions(reader: $0, for: kind) } ?? .init()
        guard let answer = object.required("answer").flatMap({ Answer(reader: $0, to: kind, in: place) })
        else { return nil }
        self.answer = answer
    }

    private static func name(_ reader: JSONReader) -> String? {
        guard let text = reader.string(maximumLength: 100) else { return nil }
        guard !text.isEmpty, text.isStreamSafe, text.unicodeScalars.allSatisfy({ !$0.isControlOrBidirectional }) else {
            reader.refuse("must have at least one character, and no control characters")
            return nil
        }
        return text
    }

    func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("on", on.rawValue)
        if !conditions.all.isEmpty { writer.member("when", object: conditions.write) }
        writer.name("answer")
        answer.write(&writer, .open)
    }
}

extension UnicodeScalar {
    /// Whether it controls the display of text rather than being text (SEC-47).
    var isControlOrBidirectional: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
        default: false
        }
    }
}

/// The rules for a load, by the kind of question: a kind that nothing asks about costs nothing.
package struct RuleBook: Sendable {
    /// The level of the configuration that has the rule.
    package enum Level: String, Sendable {
        case job
        case session
        case service
    }

    /// A rule that answered.
    package struct Match: Sendable {
        package let rule: Rule
        package let level: Level
        /// Its place among those of its level, from 0.
        package let index: Int

        static func all(of rules: [Rule], _ level: Level) -> [Match] {
            rules.enumerated().map { Match(rule: $1, level: level, index: $0) }
        }
    }

    /// Of each kind those of the job, then those of the session, then those of the service.
    private let rules: [Question.Kind: [Match]]
    /// The same with the session's first, for questions of session level (AUT-9).
    private let sessionFirst: [Question.Kind: [Match]]
    /// The kinds that some rule is for.
    package let kinds: Set<Question.Kind>
    /// Whether a rule may look at chains that verification finds good.
    package let asksAboutTrustedServers: Bool
    /// Whether a rule may be for servers that want a certificate, which is asked about in connections of their own.
    package let mayConcernClientCertificates: Bool
    /// Whether a rule may make a file of a response's body.
    package let mayBecomeDownload: Bool
    /// The methods that answers put in place of those proposed.
    package let methods: [HTTPRequest.Method]

    /// - Parameters:
    ///   - service: Those of the service that apply to the job.
    package init(job: [Rule], session: [Rule], service: [Match] = []) {
        let ofJob = Match.all(of: job, .job)
        let ofSession = Match.all(of: session, .session)
        rules = Dictionary(grouping: ofJob + ofSession + service, by: \.rule.on)
        sessionFirst = Dictionary(
            grouping: (ofSession + ofJob + service).filter { $0.rule.on.mayBeSessionLevel }, by: \.rule.on)
        kinds = Set(rules.keys)
        asksAboutTrustedServers =
            rules[.didReceiveServerTrust]?.contains { $0.rule.conditions.askAboutTrustedServers } ?? false
        mayConcernClientCertificates =
            rules[.didReceiveChallenge]?.contains { $0.rule.conditions.mayConcernClientCertificates } ?? false
        mayBecomeDownload = rules[.didReceiveResponse]?.contains { $0.rule.answer == .becomeDownload } ?? false
        methods = rules.values.joined().compactMap { match in
            switch match.rule.answer {
            case .follow(let change?), .useRequest(let change): change.method
            default: nil
            }
        }
    }

    /// The first rule whose conditions the question meets.
    package func match(_ question: Question) -> Match? {
        let candidates = question.isSessionLevel ? sessionFirst[question.kind] : rules[question.kind]
        guard let candidates else { return nil }
        var facts = Question.Facts(question)
        return candidates.indices.first { candidates[$0].rule.conditions.areMet(by: &facts) }.map { candidates[$0] }
    }
}

extension Question.Kind {
    /// Whether some of its questions are of session level.
    package var mayBeSessionLevel: Bool { self == .didReceiveChallenge || self == .didReceiveServerTrust }
}

extension Question.Conditions {
    /// Whether they name chains that verification finds good: only then are such chains asked about.
    package var askAboutTrustedServers: Bool {
        all.contains { if case .trustError(let errors) = $0 { errors.contains(.none) } else { false } }
    }

    /// Whether a challenge for a client certificate may match them: it has no realm, and comes without a response.
    fileprivate var mayConcernClientCertificates: Bool {
        all.allSatisfy { condition in
            switch condition {
            case .authenticationMethod(let methods): methods.contains(.clientCertificate)
            case .isProxy(let wanted): !wanted
            case .realm, .status, .header: false
            default: true
            }
        }
    }
}
