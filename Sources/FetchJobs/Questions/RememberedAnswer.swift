/// An answer that a session gives again to questions like the one that it was given to: a rule with an end.
package struct RememberedAnswer: Sendable, Equatable {
    /// The question that it was given to, which names it.
    package let question: Question.ID
    /// When it is given, and what.
    package let rule: Rule
    /// The author of the answer.
    package let by: Decision.Decider
    package let rememberedAt: Timestamp
    /// It is given no more from then on.
    package let expiresAt: Timestamp

    /// So many a session remembers: the oldest one makes way for another.
    package static let maximumOfSession = 64
    /// The seconds for which one may be remembered.
    package static let seconds: ClosedRange<Int64> = 1...2_592_000

    package init(
        to question: Question.ID, _ rule: Rule, by decider: Decision.Decider, rememberedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.question = question
        self.rule = rule
        by = decider
        self.rememberedAt = rememberedAt
        self.expiresAt = expiresAt
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("question", question.description)
        writer.member("on", rule.on.rawValue)
        writer.member("when", object: rule.conditions.write)
        writer.name("answer")
        rule.answer.write(&writer, .redacted)
        writer.member("by", object: by.write)
        writer.member("rememberedAt", rememberedAt.description)
        writer.member("expiresAt", expiresAt.description)
    }
}

extension [RememberedAnswer] {
    /// The first answer that has not ended and whose conditions a question meets.
    package func match(_ question: Question, at now: Timestamp = .now) -> RememberedAnswer? {
        var facts = Question.Facts(question)
        let answers = span
        for index in answers.indices
        where answers[index].rule.on == question.kind && answers[index].expiresAt > now
            && answers[index].rule.conditions.areMet(by: &facts)
        {
            return self[index]
        }
        return nil
    }
}

extension Reply {
    /// For how long, and for which questions, an answer is remembered by the session of its job.
    package struct Remembering: Sendable, Equatable {
        package let duration: Duration
        package let conditions: Question.Conditions

        package init(for duration: Duration, when conditions: Question.Conditions) {
            self.duration = duration
            self.conditions = conditions
        }

        package var json: RawJSON {
            RawJSON(
                JSONWriter.object { writer in
                    writer.member("seconds", duration.components.seconds)
                    writer.member("when", object: conditions.write)
                })
        }
    }
}

extension Reply.Remembering {
    /// Reads for how long and for which questions an answer is remembered, and reports errors to the check.
    init?(reader: JSONReader, of answer: Answer, to asked: AskedQuestion) {
        guard let object = reader.object(of: ["seconds", "when"]) else { return nil }
        let seconds = object.required("seconds")?.integer(in: RememberedAnswer.seconds)
        guard asked.session != nil else {
            reader.refuse("must not be there: the job has no session that could remember an answer")
            return nil
        }
        guard !asked.limits.isEphemeral else {
            reader.refuse("must not be there: an ephemeral session stores no answer")
            return nil
        }
        if let refusal = answer.refusalToRemember {
            reader.refuse(refusal)
            return nil
        }
        var conditions = asked.limits.alike
        if let when = object["when"] {
            if answer == .accept {
                when.refuse("must not be there: an accepted chain is remembered for itself and its server alone")
            }
            conditions = Question.Conditions(reader: when, for: asked.kind)
        } else if conditions == nil {
            reader.refuse("must have \"when\": the facts of this question cannot be written as conditions")
        }
        guard let seconds, let conditions else { return nil }
        self.init(for: .seconds(seconds), when: conditions)
    }
}

extension Answer {
    /// Why it cannot be given to other questions; nil when it can.
    fileprivate var refusalToRemember: String? {
        switch self {
        case .useCredential(.inline), .useCredential(.sealed):
            "must not be there: a credential is remembered by its id (crd_…) alone"
        case .follow(_?), .useRequest: "must not be there: a change of a request is made once"
        case .useBody: "must not be there: a body is sent once"
        case .use(let filename, let overwrite) where filename != nil || overwrite:
            "must not be there: a name is given to one file"
        case .store(let storing) where storing != Storing():
            "must not be there: what is stored with a response is stored once"
        case .performDefaultHandling, .follow(nil), .returnResponse, .cancel, .useCredential(.stored),
            .continueWithoutCredential, .rejectProtectionSpace, .accept, .reject, .allow, .becomeDownload, .decode,
            .use, .store, .doNotStore, .continueLoading:
            nil
        }
    }
}
