import FetchEngine
import FetchJobs
import FetchRuntime
import Synchronization

/// Asks the delegates of one attempt of a job: its own, or that of its session.
final class RemoteAsker: QuestionAsker {
    let job: ClaimedJob
    let stop: StopSwitch
    let live: LiveJob
    private let delegates: RemoteDelegates
    private let kind: SessionSpec.Kind
    private let own: FetchJobs.Configuration.Delegate
    private let session: FetchJobs.Configuration.Delegate
    private let redirects: FetchJobs.Configuration.Redirects
    private let mayBecomeDownload: Bool
    private let count = Atomic<Int>(0)

    /// - Parameters:
    ///   - own: The delegate that the job sets itself; it is asked in place of its session's.
    ///   - session: The delegate of its session.
    ///   - redirects: What redirects of the job are kept to.
    ///   - kind: That of its session.
    init(
        _ job: ClaimedJob, own: FetchJobs.Configuration.Delegate, session: FetchJobs.Configuration.Delegate,
        redirects: FetchJobs.Configuration.Redirects, in kind: SessionSpec.Kind, stop: StopSwitch, live: LiveJob,
        delegates: RemoteDelegates
    ) {
        self.job = job
        self.own = own
        self.session = session
        self.redirects = redirects
        self.stop = stop
        self.live = live
        self.delegates = delegates
        self.kind = kind
        mayBecomeDownload = job.spec.kind != .download && kind != .ephemeral
    }

    var kinds: Set<Question.Kind> {
        own.via == nil ? session.kinds : own.kinds.union(session.kinds.filter(\.mayBeSessionLevel))
    }

    /// Whether its load may be left at a question, and another one goes on.
    ///
    /// Not while a client sends its body, which it does not where a body is asked for; and nothing is written of an
    /// ephemeral session.
    func mayPark(at question: Question) -> Bool {
        kind != .ephemeral && (question.kind == .needNewBodyStream || job.spec.request.body != .stream)
    }

    /// Whether others have a slot of the node while it waits: jobs of ephemeral sessions are not counted.
    var hasSlot: Bool { kind != .ephemeral }

    var asksAboutTrustedServers: Bool { own.asksAboutTrustedServers || session.asksAboutTrustedServers }

    func isAsked(_ question: Question) -> Bool { delegate(for: question) != nil }

    private func delegate(for question: Question) -> FetchJobs.Configuration.Delegate? {
        .responsible(for: question, job: own, session: session)
    }

    func decide(_ question: Question, at standing: @escaping LoadStanding) async -> DecidedAnswer {
        guard let delegate = delegate(for: question) else {
            return DecidedAnswer(.performDefaultHandling, by: .configuration)
        }
        var limits = limits(of: question)
        if job.spec.session != nil, kind != .ephemeral { limits.alike = question.alike }
        return await delegates.answer(to: question, of: delegate, within: limits, for: self, at: standing)
    }

    func otherwise(_ question: Question) -> Answer {
        let answer = delegate(for: question)?.otherwise?[question.kind] ?? .performDefaultHandling
        // The limits apply to it too.
        return limits(of: question).violations(of: answer).isEmpty ? answer : .performDefaultHandling
    }

    private func limits(of question: Question) -> AnswerLimits {
        var limits = AnswerLimits(of: question, redirects, without: mayBecomeDownload ? [] : [.becomeDownload])
        limits.isEphemeral = kind == .ephemeral
        return limits
    }

    func goOn(after count: Int) { self.count.store(count, ordering: .relaxed) }

    /// How many questions there are with the next one; nil when the job has asked as often as it may.
    func next(of delegate: FetchJobs.Configuration.Delegate) -> Int? {
        let number = count.add(1, ordering: .relaxed).newValue
        let maximum = delegate.maximumQuestions ?? FetchJobs.Configuration.Delegate.defaultMaximumQuestions
        return number <= maximum ? number : nil
    }
}
