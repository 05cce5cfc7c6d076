package import FetchJobs
package import FetchRuntime

/// Answers the questions of a job's load that neither a rule nor a remembered answer decides: by the delegate, and by
/// `otherwise` when that does not answer.
package protocol QuestionAsker: Sendable {
    /// The kinds that it may be asked about; of others it costs nothing.
    var kinds: Set<Question.Kind> { get }

    /// Whether it may be asked about chains that verification finds good.
    var asksAboutTrustedServers: Bool { get }

    /// Whether a question is one for it, by kind and conditions.
    func isAsked(_ question: Question) -> Bool

    /// The answer, and who gave it; comes at the latest when the question's time is over.
    ///
    /// An answer that breaks a limit is not used: the configuration decides then.
    ///
    /// - Parameter standing: Where the load stands.
    func decide(_ question: Question, at standing: @escaping LoadStanding) async -> DecidedAnswer

    /// The answer when nobody gives one.
    func otherwise(_ question: Question) -> Answer

    /// Counts from where an earlier attempt of the job was parked.
    func goOn(after count: Int)
}

/// Commits that a request is about to be sent that must not be repeated; false: it must not be sent.
typealias Beginning = @Sendable () async -> Bool

/// Tells where a load stands at a question, and what was decided before; nil where it cannot be left.
///
/// The number is that of the questions asked so far.
package typealias LoadStanding = @Sendable (_ asked: Int) async -> ParkedLoad?

/// An answer with who gave it.
package struct DecidedAnswer: Sendable {
    package let answer: Answer
    package let decider: Decision.Decider
    /// How long the load waited for it.
    package let waited: Duration?

    package init(_ answer: Answer, by decider: Decision.Decider, waited: Duration? = nil) {
        self.answer = answer
        self.decider = decider
        self.waited = waited
    }
}

/// Makes the asker of one attempt of a job; nil when the job has no delegate.
///
/// - Parameters:
///   - job: The delegate that the job sets itself.
///   - session: The delegate of its session.
///   - settings: What the job goes by.
///   - kind: That of its session.
///   - stop: Ends the attempt.
package typealias QuestionAskers =
    @Sendable (
        ClaimedJob, _ job: FetchJobs.Configuration.Delegate, _ session: FetchJobs.Configuration.Delegate,
        _ settings: FetchJobs.Configuration, _ kind: SessionSpec.Kind, _ stop: StopSwitch
    ) -> (any QuestionAsker)?
