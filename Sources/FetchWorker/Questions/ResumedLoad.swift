import FetchJobs

/// A load that was parked, and how its question has ended: the next attempt of its job goes on with it.
package final class ResumedLoad: Sendable {
    let load: ParkedLoad
    let question: AskedQuestion
    /// The answer, and who gave it; nil when nobody did in time.
    let answer: (Answer, by: Decision.Decider)?
    /// From the question to its end.
    let waited: Duration

    init(_ load: ParkedLoad, at question: StoredQuestion, _ end: QuestionEnd?) {
        self.load = load
        self.question = question.asked
        answer = if case .answered(let answer, let by)? = end { (answer, by) } else { nil }
        let time = question.endedAt ?? question.deadline
        waited = .microseconds(time.microseconds - question.askedAt.microseconds)
    }

    /// Whether the load has come to the question again at which it was parked.
    func isAbout(_ question: Question, of job: ClaimedJob) -> Bool {
        guard question.kind == self.question.kind else { return false }
        switch question.subject {
        // A credential is for the space that it was given for, whoever asks by now.
        case .challenge(let challenge): return challenge.space == self.question.limits.space
        // A server may show another chain by now, which nobody was asked about.
        case .serverTrust:
            let again = AskedQuestion(
                question, of: job, sequence: 0, limits: self.question.limits, endpoint: nil, job.spec.request.urlForm)
            return again.content == self.question.content
        default: return true
        }
    }
}
