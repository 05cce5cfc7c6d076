import EventLoop
import FetchEngine
import FetchJobs
import HTTPTypes

/// Decides a redirect many times by rules of which the last one fits, and then by the same as remembered answers.
func rules(_ count: Int, total: Int) async throws {
    let request = Request(url: try URLRecord("https://www.origin.example/articles/2026/index.html?page=2"))
    let proposed = Request(url: try URLRecord("https://edge.origin.example/articles/2026/index.html?page=2"))
    let response = Response(
        url: request.url, status: 302, headerFields: [.location: proposed.url.description, .server: "nginx"])
    let question = Question(
        .redirection(.init(response: response, proposed: proposed, hop: 1, maximumHops: 20)), about: request)
    let rules = (1...count).map { number in
        var host = Question.URLPattern()
        host.host = .init(number == count ? "origin.example" : "host\(number).example", includesSubdomains: true)
        return Rule(on: .willPerformHTTPRedirection, when: [.status([.family(3)]), .to(host)], .follow(nil))
    }
    let book = RuleBook(job: rules, session: [])
    let end = Timestamp.now.advanced(by: .seconds(3600))
    let answers = rules.map { rule in
        RememberedAnswer(to: Question.ID(), rule, by: .operator, rememberedAt: .now, expiresAt: end)
    }
    let memory = AnswerMemory { (1, answers) }
    memory.require(1)
    try await memory.catchUp()
    let byRules = nanoseconds(of: total) { book.match(question)?.index == count - 1 }
    let byMemory = nanoseconds(of: total) { memory.answer(to: question) != nil }
    guard let byRules, let byMemory else { throw Usage() }
    print("engine rules n=\(count) rule_us=\(rounded(byRules / 1e3, 1000)) memory_us=\(rounded(byMemory / 1e3, 1000))")
}

/// The nanoseconds of one call, as the mean of many; nil when one fails.
private func nanoseconds(of total: Int, _ body: () -> Bool) -> Double? {
    let start = MonotonicTime.now
    for _ in 0..<total {
        guard body() else { return nil }
    }
    return Double(MonotonicTime.now.nanoseconds(since: start)) / Double(total)
}
