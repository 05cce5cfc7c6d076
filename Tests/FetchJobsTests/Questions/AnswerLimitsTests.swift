import FetchEngine
import HTTPTypes
import Testing

@testable import FetchJobs

@Suite struct AnswerLimitsTests {
    private func reply(_ text: String, to kind: Question.Kind) throws -> Answer {
        try Reply(json: JSONParser.parse(text.utf8), to: kind).answer
    }

    @Test func `a request of an answer goes where a redirect may go`() throws {
        let question = try Questions.redirection()
        var redirects = FetchJobs.Configuration.Redirects()
        redirects.allowedHosts = ["b.example"]
        let limits = AnswerLimits(of: question, redirects)
        func pointers(_ url: String) throws -> [String] {
            let answer = try reply(#"{"answer":"follow","request":{"url":"\#(url)"}}"#, to: question.kind)
            return limits.violations(of: answer).map(\.pointer)
        }
        #expect(try pointers("https://b.example/") == [])
        #expect(try pointers("http://b.example/") == ["/request/url"])
        #expect(try pointers("http://c.example/") == ["/request/url", "/request/url"])
    }

    @Test func `a word that is not possible is refused by name`() throws {
        let question = try Questions.response()
        let limits = AnswerLimits(of: question, .init(), without: [.becomeDownload])
        #expect(limits.violations(of: .allow).isEmpty)
        #expect(limits.violations(of: .becomeDownload).map(\.pointer) == ["/answer"])
        #expect(limits.violations(of: .becomeDownload).first?.message.contains("\"allow\"") == true)
    }

    @Test func `what is stored is stored no laxer than was proposed`() throws {
        let request = Request(url: try URLRecord("https://a.example/"))
        let response = Response(url: request.url, status: .ok)
        let facts = Question.CachingFacts(response: response, bodyBytes: 1, storagePolicy: .allowedInMemoryOnly)
        let limits = AnswerLimits(of: Question(.caching(facts), about: request), .init())
        let laxer = try reply(#"{"answer":"store","storagePolicy":"allowed"}"#, to: .willCacheResponse)
        let stricter = try reply(#"{"answer":"store","storagePolicy":"notAllowed"}"#, to: .willCacheResponse)
        #expect(limits.violations(of: laxer).map(\.pointer) == ["/storagePolicy"])
        #expect(limits.violations(of: stricter).isEmpty)
    }

    @Test func `limits are read as they were written`() throws {
        var redirects = FetchJobs.Configuration.Redirects()
        redirects.allowedHosts = ["b.example", "a.example"]
        redirects.allowHTTPSToHTTP = true
        let questions = [
            try Questions.redirection(), try Questions.challenge(), try Questions.challenge(.clientCertificate),
            try Questions.serverTrust(.trusted), try Questions.response(),
        ]
        for question in questions {
            var limits = AnswerLimits(of: question, redirects)
            limits.alike = question.alike
            #expect(limits.alike != nil)
            #expect(try AnswerLimits(stored: limits.json, of: question.kind) == limits)
        }
    }
}
