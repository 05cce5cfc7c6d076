import FetchJobs
import FetchRuntime
import TestSupport

extension TestServer {
    /// Has a job ask, as a worker does.
    func ask(
        kind: Question.Kind = .willPerformHTTPRedirection, host: String? = "a.example:443",
        of tenant: Tenant.ID? = nil, timeout: Duration = .seconds(60), limits: AnswerLimits? = nil,
        content: String = #"{"request":{"url":"https://a.example/"},"facts":{"hop":1}}"#
    ) async throws -> AskedQuestion {
        let job = try NewJob.make()
        _ = try await jobs.enqueue([job])
        let question = AskedQuestion(
            tenant: tenant ?? key.tenant, job: job.id, claim: 1, sequence: 1, kind: kind, host: host, group: nil,
            labels: [],
            content: RawJSON(Array(content.utf8)), limits: limits ?? AnswerLimits(words: kind.words), endpoint: nil)
        _ = try await questions.ask(question, of: nil, timeout: timeout, at: Node.ID())
        askedQuestions.note(question.tenant)
        return question
    }
}
