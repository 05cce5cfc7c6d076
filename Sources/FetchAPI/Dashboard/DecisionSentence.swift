import FetchJobs

/// A stored decision as a sentence for people.
///
/// Texts that an origin may have written are cut, each by itself, so that the answer is always there.
struct DecisionSentence {
    /// How many facts are shown.
    private static let maximumFacts = 10

    let text: String

    init(_ decision: JSONValue) {
        let kind = decision.member("kind")?.text ?? ""
        let facts = Self.facts(decision.member("facts"))
        let answer = decision.member("answer")
        let word = answer?.text ?? answer?.member("answer")?.text ?? ""
        var text = "\(kind)\(facts.isEmpty ? "" : " (\(facts))"): \(word), by \(Self.who(decision.member("by")))"
        if let waited = decision.member("waited")?.double { text += " after \(Waterfall.show(waited))" }
        if let refusal = decision.member("refusal")?.text {
            text += ". It was not used: \(VisibleText.cut(refusal))"
        }
        self.text = text
    }

    private static func facts(_ facts: JSONValue?) -> String {
        guard case .object(let members) = facts else { return "" }
        return members.prefix(maximumFacts).map { "\($0.name) \(VisibleText.cut($0.value.shown))" }
            .joined(separator: ", ")
    }

    private static func who(_ decider: JSONValue?) -> String {
        guard let decider, let who = decider.member("who")?.text else { return "nobody" }
        if who == "remembered" { return "the remembered answer to \(decider.member("question")?.text ?? "")" }
        guard who == "rule" else { return decider.member("endpoint")?.text ?? decider.member("key")?.text ?? who }
        let name = (decider.member("rule")?.text).map { "\"\(VisibleText.cut($0))\"" }
        let number = (decider.member("index")?.integer).map { "number \($0 + 1)" }
        return "the rule \(name ?? number ?? "") of the \(decider.member("from")?.text ?? "job")"
    }
}
