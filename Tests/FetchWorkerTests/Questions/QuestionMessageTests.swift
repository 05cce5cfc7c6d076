import FetchEngine
import FetchJobs
import TestSupport
import Testing

@testable import FetchWorker

@Suite(.timeLimit(.minutes(1))) struct QuestionMessageTests {
    private func message(of tenant: Tenant.ID, at url: URLRecord) -> QuestionMessage {
        let endpoint = WebhookEndpoint(tenant: tenant, url: url, events: [.jobQuestion], createdAt: .now)
        let kind = Question.Kind.didReceiveResponse
        let asked = AskedQuestion(
            tenant: tenant, job: Job.ID(), claim: 1, sequence: 1, kind: kind, host: nil, group: nil, labels: [],
            content: RawJSON(Array(#"{"request":{},"facts":{}}"#.utf8)), limits: AnswerLimits(words: kind.words),
            endpoint: endpoint.id)
        return QuestionMessage(
            question: StoredQuestion(asked, askedAt: .now, deadline: .now), endpoint: endpoint)
    }

    // One after the other, so that all could go by one connection.
    // Proves: SEC-21, SEC-35, SEC-42.
    @Test func `questions of two tenants to one receiver share no connection`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let session = Session()
        let tenants: [(Tenant.ID, String)] = [(.first, "/one"), (.second, "/another")]
        for (tenant, path) in tenants + tenants {
            let url = try URLRecord(origin.url(path))
            let verdict = await message(of: tenant, at: url)
                .send(to: url, in: session, reach: nil, connections: 1, at: .now)
            #expect(verdict.hasAnswered)
        }
        #expect(origin.connections.count == 2)
        #expect(origin.received(on: 0).contains("POST /one ") && !origin.received(on: 0).contains("/another"))
        #expect(origin.received(on: 1).contains("POST /another ") && !origin.received(on: 1).contains("/one"))
    }
}
