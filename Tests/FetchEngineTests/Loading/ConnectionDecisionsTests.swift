import Testing

@testable import FetchEngine

/// The decisions of a load about its connections.
@Suite struct ConnectionDecisionsTests {
    private let here: URLRecord
    private let there: URLRecord

    init() throws {
        here = try URLRecord("https://a.example/x")
        there = try URLRecord("https://b.example/y")
    }

    private static let trust = ServerTrust(
        host: "a.example", port: 443, certificates: [[1]], verdict: .rejected(.serverCertificateUntrusted, reason: ""))

    @Test func `an accepted chain is accepted from the server that showed it alone`() {
        var answers = ConnectionDecisions()
        answers.accept(Self.trust, from: here.origin)
        let rules = answers.trustRules(for: here, TLSConfiguration(), isAsking: true)
        #expect(rules.decide(Self.trust) == .accept(overriding: true))
        let others = answers.trustRules(for: there, TLSConfiguration(), isAsking: true)
        #expect(others.decide(Self.trust) == .ask)
    }

    @Test func `nobody is asked where there is nobody, and about the trusted only when wanted`() {
        var tls = TLSConfiguration()
        let answers = ConnectionDecisions()
        #expect(answers.trustRules(for: here, tls, isAsking: false).question == .nobody)
        #expect(answers.trustRules(for: here, tls, isAsking: true).question == .untrusted)
        tls.asksAboutTrustedServers = true
        #expect(answers.trustRules(for: here, tls, isAsking: true).question == .everybody)
    }

    @Test func `a certificate is accepted from the hosts it was named for`() {
        var tls = TLSConfiguration()
        tls.acceptedCertificates = [AcceptedCertificate(HostPattern("a.example")!, Fingerprint(of: [1]))]
        let answers = ConnectionDecisions()
        #expect(answers.trustRules(for: here, tls, isAsking: false).canOverride)
        #expect(!answers.trustRules(for: there, tls, isAsking: false).canOverride)
    }

    @Test func `the next route is taken until there is none`() {
        let proxy = ProxyConfiguration.Route.proxy(Proxy("http://proxy.example")!)
        let proxies = ProxyConfiguration(rules: [.init(routes: [proxy, .direct])])
        var answers = ConnectionDecisions()
        #expect(answers.route(to: here, proxies) == proxy)
        let hasNext = answers.routeFailed(to: here, proxies)
        #expect(hasNext)
        #expect(answers.route(to: here, proxies) == .direct)
        #expect(answers.route(to: there, proxies) == proxy)
        let hasAnother = answers.routeFailed(to: here, proxies)
        #expect(!hasAnother)
    }

    @Test func `a login is for the server it was chosen for`() {
        var answers = ConnectionDecisions()
        let login = Credential(user: "user", password: "secret")
        answers.choose(login: login, for: here.origin)
        #expect(answers.login(for: here) == login)
        #expect(answers.login(for: there) == nil)
    }
}
