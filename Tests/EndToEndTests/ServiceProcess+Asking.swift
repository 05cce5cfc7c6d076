import HTTPTypes
import TestSupport
import Testing

extension ServiceProcess {
    /// Submits a job that asks its delegate by the API about kinds, and returns its id.
    ///
    /// - Parameters:
    ///   - more: Further members of the delegate.
    ///   - request: Further members of the request.
    ///   - spec: Further members of the job.
    ///   - configuration: Further members of the configuration.
    func submit(
        _ url: String, asking kinds: String, _ more: String = "", via: String = #""via": "api""#, timeout: Int = 60,
        request: String = "", spec: String = "", configuration: String = ""
    ) async throws -> String {
        let delegate = #""delegate": {\#(via), "questions": \#(kinds), "timeout": \#(timeout)\#(more)}"#
        let body =
            #"{"request": {"url": "\#(url)"\#(request)}, "configuration": {\#(delegate)\#(configuration)}\#(spec)}"#
        let answer = try await self.request(.post, "/v1/jobs", body: body)
        try #require(answer.status == 202, "\(answer.text)")
        return try #require(member(answer.json, "id"))
    }

    /// The next open question of a job, as soon as there is one.
    func question(of job: String) async throws -> [String: Any] {
        let answer = try await request(
            .get, "/v1/jobs/\(job)/questions?state=open", headers: [.prefer: "wait=30"])
        try #require(answer.status == 200, "\(answer.text)")
        let seen = try await request(.get, "/v1/jobs/\(job)").text
        return try #require(member(answer.json, "data", "0"), "\(seen)")
    }

    func answer(_ question: [String: Any], _ body: String) async throws -> Answer {
        let job = try #require(member(question, "job", as: String.self))
        let id = try #require(member(question, "id", as: String.self))
        return try await request(.post, "/v1/jobs/\(job)/questions/\(id)", body: body)
    }

    func end(of job: String) async throws -> [String: Any] {
        try await self.job(job) { ["succeeded", "failed", "cancelled"].contains(member($0, "state", as: String.self)) }
    }
}
