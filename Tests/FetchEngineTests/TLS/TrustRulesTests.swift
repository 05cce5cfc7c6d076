import Testing

@testable import FetchEngine

/// Which chains a handshake goes on with.
@Suite struct TrustRulesTests {
    private static func trust(
        _ certificates: [[UInt8]],
        _ verdict: ServerTrust.Verdict = .rejected(.serverCertificateHasUnknownRoot, reason: "")
    ) -> ServerTrust {
        ServerTrust(host: "a.example", port: 443, certificates: certificates, verdict: verdict)
    }

    private static let good = trust([[1], [2]], .trusted)
    private static let bad = trust([[1], [2]])

    @Test func `without anybody to ask the verdict decides`() {
        let rules = TrustRules()
        #expect(rules.decide(Self.good) == .accept(overriding: false))
        #expect(rules.decide(Self.bad) == .reject)
    }

    @Test func `the delegate is asked about what is not trusted, and about the rest only when it wants`() {
        var rules = TrustRules(question: .untrusted)
        #expect(rules.decide(Self.good) == .accept(overriding: false))
        #expect(rules.decide(Self.bad) == .ask)
        rules.question = .everybody
        #expect(rules.decide(Self.good) == .ask)
        #expect(rules.decide(Self.bad) == .ask)
    }

    @Test func `what the delegate left to the verdict is not asked again`() {
        let rules = TrustRules(settledChains: [Self.good.chainFingerprint], question: .everybody)
        #expect(rules.decide(Self.good) == .accept(overriding: false))
        #expect(rules.decide(Self.bad) == .reject)
    }

    @Test func `an accepted chain is accepted to the last certificate, and no other`() {
        let rules = TrustRules(acceptedChains: [Self.bad.chainFingerprint])
        #expect(rules.decide(Self.bad) == .accept(overriding: true))
        #expect(rules.decide(Self.trust([[1]])) == .reject)
        #expect(rules.decide(Self.trust([[1], [3]])) == .reject)
        #expect(rules.decide(Self.trust([[2], [1]])) == .reject)
    }

    @Test func `an accepted certificate is accepted whatever is behind it, and no other`() {
        let rules = TrustRules(acceptedCertificates: [Fingerprint(of: [1])])
        #expect(rules.decide(Self.trust([[1]])) == .accept(overriding: true))
        #expect(rules.decide(Self.trust([[1], [9]])) == .accept(overriding: true))
        #expect(rules.decide(Self.trust([[9], [1]])) == .reject)
    }

    @Test func `a server that shows nothing is not accepted`() {
        let rules = TrustRules(acceptedCertificates: [Fingerprint(of: [1])])
        #expect(rules.decide(Self.trust([])) == .reject)
    }
}
