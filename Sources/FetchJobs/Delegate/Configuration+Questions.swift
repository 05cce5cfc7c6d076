// The rules, questions and answers of a configuration that its job can never use.

extension Configuration {
    /// Tells which rules and questions are of kinds that cannot come up.
    ///
    /// - Parameter reason: Why a kind cannot; nil for one that can.
    func refuse(_ check: InputCheck, kinds reason: (Question.Kind) -> String?) {
        for (index, rule) in rules.enumerated() {
            guard let reason = reason(rule.on) else { continue }
            check.refuse("/configuration/rules/\(index)/on", "cannot be \(rule.on.rawValue): \(reason)")
        }
        for (index, trigger) in (delegate.questions ?? []).enumerated() {
            guard let reason = reason(trigger.on) else { continue }
            check.refuse("/configuration/delegate/questions/\(index)", "cannot be \(trigger.on.rawValue): \(reason)")
        }
    }

    /// Refuses answers with a word that is not possible for the job.
    func refuse(_ check: InputCheck, word: Answer.Word, _ message: String) {
        for (answer, pointer) in answers where answer.word == word { check.refuse(pointer, message) }
    }

    /// The answers that are written beforehand, and where.
    var answers: [(answer: Answer, pointer: String)] {
        let ofRules = rules.enumerated().map { ($1.answer, "/configuration/rules/\($0)/answer") }
        let others = (delegate.otherwise ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }
        return ofRules + others.map { ($1, "/configuration/delegate/otherwise/\($0.rawValue)") }
    }
}

extension JobSpec {
    /// Tells which rules and questions can never come up in the job.
    func checkQuestions(_ check: InputCheck) {
        configuration.refuse(check) { kind in
            switch kind {
            case .willCacheResponse where self.kind == .download: "a download stores nothing in the cache"
            case .needNewBodyStream where request.body != .stream: "the body of the job is no stream"
            default: nil
            }
        }
        if kind == .download {
            configuration.refuse(check, word: .becomeDownload, "cannot be \"becomeDownload\": the job is a download")
        }
    }
}
