import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct AuthenticationMachineTests {
    private typealias Machine = AuthenticationMachine

    private static func space(
        _ method: ProtectionSpace.Method, _ realm: String? = "r", host: String = "h", isProxy: Bool = false
    ) -> ProtectionSpace {
        ProtectionSpace(host: host, port: 80, scheme: "http", realm: realm, method: method, isProxy: isProxy)
    }

    private static func offer(_ space: ProtectionSpace, isStale: Bool = false) throws -> AuthenticationOffer {
        var offer = try #require(
            AuthenticationOffer.all(
                in: [.wwwAuthenticate: "Basic realm=\"r\""], status: 401,
                server: .init(host: "h", port: 80, scheme: "http"), proxy: nil
            ).first)
        offer.space = space
        if space.method == .httpDigest {
            let stale = isStale ? ", stale=TRUE" : ""
            offer.digest = try DigestSessionTests.session("realm=\"r\", nonce=\"n\", qop=auth\(stale)").challenge
        }
        return offer
    }

    private static func offers(_ methods: ProtectionSpace.Method...) throws -> [AuthenticationOffer] {
        try methods.map { try offer(space($0)) }
    }

    private static func machine(_ url: String = "http://h/") throws -> Machine {
        var machine = Machine()
        machine.use(userinfoOf: try URLRecord(url))
        return machine
    }

    private static let right = Credential(user: "u", password: "right", persistence: .forSession)
    private static let wrong = Credential(user: "u", password: "wrong")

    /// The question behind any number of look-ups that find nothing.
    private static func question(_ machine: inout Machine, _ first: Machine.Action) -> Machine.Question? {
        var action = first
        while case .lookUp = action { action = machine.lookedUp(nil) }
        guard case .ask(let question) = action else { return nil }
        return question
    }

    private static func retried(_ action: Machine.Action) -> Machine.Attempt? {
        guard case .retry(let attempt) = action else { return nil }
        return attempt
    }

    // Proves: SEC-28.
    @Test func `a user name or a password of a URL that is no text of any language is none`() throws {
        let marks = String(repeating: "%CC%95", count: 31)
        for url in ["http://\(marks):p@h/", "http://u:\(marks)@h/"] {
            #expect(Credential(userinfoOf: try URLRecord(url)) == nil)
        }
        #expect(Credential(userinfoOf: try URLRecord("http://u:p@h/")) != nil)
    }

    // Proves: AUT-6.
    @Test func `a response that offers nothing is an ordinary one`() throws {
        var machine = try Self.machine("http://u:p@h/")
        #expect(machine.challenged(by: []) == .deliver)
    }

    // The URL, then the store, then the delegate; each failure is counted.
    // Proves: AUT-7.
    @Test func `the URL goes before the store and the store before the delegate`() throws {
        var machine = try Self.machine("http://me:s%2Fecret@h/")
        let offers = try Self.offers(.httpBasic)
        let first = try #require(Self.retried(machine.challenged(by: offers)))
        #expect(first.credential == Credential(user: "me", password: "s/ecret") && first.source == .url)
        #expect(machine.challenged(by: offers) == .lookUp(Self.space(.httpBasic)))
        let second = try #require(Self.retried(machine.lookedUp(Self.wrong)))
        #expect(second.source == .store)
        let question = try #require(Self.question(&machine, machine.challenged(by: offers)))
        #expect(question.previousFailureCount == 2)
        #expect(question.proposedCredential == Self.wrong)
        let third = try #require(Self.retried(machine.answered(.useCredential(Self.right))))
        #expect(third.source == .delegate)
        #expect(machine.convinced(status: 200) == [third])
    }

    // Proves: AUT-7.
    @Test func `the store is looked at for every offer before anyone is asked`() throws {
        var machine = try Self.machine()
        #expect(machine.challenged(by: try Self.offers(.httpDigest, .httpBasic)) == .lookUp(Self.space(.httpDigest)))
        #expect(machine.lookedUp(nil) == .lookUp(Self.space(.httpBasic)))
        #expect(Self.retried(machine.lookedUp(Self.right))?.space == Self.space(.httpBasic))
    }

    // Proves: AUT-4.
    @Test func `failures are counted across schemes`() throws {
        var machine = try Self.machine()
        for (method, count) in [(ProtectionSpace.Method.httpDigest, 0), (.httpBasic, 1), (.httpBasic, 2)] {
            let question = Self.question(&machine, machine.challenged(by: try Self.offers(method)))
            #expect(question?.previousFailureCount == count)
            _ = machine.answered(.useCredential(Self.wrong))
        }
    }

    // It is tried once, counted and proposed.
    // Proves: AUT-5, CRD-9.
    @Test func `a stored credential that fails is proposed and not tried again`() throws {
        var machine = try Self.machine()
        let offers = try Self.offers(.httpBasic)
        _ = machine.challenged(by: offers)
        #expect(Self.retried(machine.lookedUp(Self.wrong)) != nil)
        #expect(machine.challenged(by: offers) == .lookUp(Self.space(.httpBasic)))
        #expect(machine.failedFromStore?.credential == Self.wrong)
        guard case .ask(let question) = machine.lookedUp(Self.wrong) else {
            Issue.record("the same credential was tried again")
            return
        }
        #expect(question.proposedCredential == Self.wrong && question.previousFailureCount == 1)
    }

    // Proves: AUT-16, FN-31.
    @Test func `a rejected space gives way to the next one and is not offered again`() throws {
        var machine = try Self.machine()
        let offers = try Self.offers(.negotiate, .httpDigest, .httpBasic)
        let question = try #require(Self.question(&machine, machine.challenged(by: offers)))
        #expect(question.space == Self.space(.negotiate))
        #expect(question.offeredSpaces.map(\.method) == [.negotiate, .httpDigest, .httpBasic])
        #expect(Self.question(&machine, machine.answered(.rejectProtectionSpace))?.space == Self.space(.httpDigest))
        #expect(Self.question(&machine, machine.answered(.rejectProtectionSpace))?.space == Self.space(.httpBasic))
        #expect(Self.retried(machine.answered(.useCredential(Self.wrong))) != nil)
        #expect(Self.question(&machine, machine.challenged(by: offers))?.space == Self.space(.httpBasic))
        #expect(machine.answered(.rejectProtectionSpace) == .deliver)
    }

    // Proves: AUT-15, AUT-17, AUT-18, AUT-20.
    @Test func `the other answers end the exchange`() throws {
        let answers: [(Challenge.Disposition, Machine.Action)] = [
            (.performDefaultHandling, .deliver), (.continueWithoutCredential, .deliver),
            (.cancelAuthenticationChallenge, .cancel),
        ]
        for (answer, action) in answers {
            var machine = try Self.machine()
            _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))
            #expect(machine.answered(answer) == action)
        }
    }

    @Test func `a credential that the scheme cannot carry rejects the space`() throws {
        let unfit = [
            Credential(bearerToken: "t"), Credential(user: "a:b", password: ""), Credential(user: "a", password: "\n"),
        ]
        for credential in unfit {
            var machine = try Self.machine()
            _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))
            #expect(machine.answered(.useCredential(credential)) == .deliver)
        }
        var machine = try Self.machine()
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpBearer)))
        #expect(Self.retried(machine.answered(.useCredential(Credential(bearerToken: "a.b-c=")))) != nil)
        #expect(!Credential(bearerToken: "a b").fits(.httpBearer) && !Credential(bearerToken: "=").fits(.httpBearer))
    }

    // Proves: AUT-23.
    @Test func `a stale nonce is no failure, but not for ever`() throws {
        var machine = try Self.machine()
        let space = Self.space(.httpDigest)
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpDigest)))
        let attempt = try #require(Self.retried(machine.answered(.useCredential(Self.right))))
        for _ in 0..<4 {
            #expect(machine.challenged(by: [try Self.offer(space, isStale: true)]) == .retry(attempt))
        }
        #expect(machine.failureCount == 0)
        let question = Self.question(&machine, machine.challenged(by: [try Self.offer(space, isStale: true)]))
        #expect(question?.previousFailureCount == 1)
    }

    // An unasked Digest answer may have used an old nonce, an unasked password is just wrong.
    // Proves: AUT-22.
    @Test func `what was sent unasked fails only in its own space, and Digest has a second chance`() throws {
        var digest = try Self.machine()
        digest.sendPreemptively(Self.right, from: .store, for: Self.space(.httpDigest))
        #expect(Self.retried(digest.challenged(by: try Self.offers(.httpDigest)))?.credential == Self.right)
        #expect(Self.question(&digest, digest.challenged(by: try Self.offers(.httpDigest)))?.previousFailureCount == 1)
        var basic = try Self.machine()
        basic.sendPreemptively(Self.wrong, from: .store, for: Self.space(.httpBasic))
        #expect(Self.question(&basic, basic.challenged(by: try Self.offers(.httpBasic)))?.previousFailureCount == 1)
        var other = try Self.machine()
        other.sendPreemptively(Self.wrong, from: .store, for: Self.space(.httpBasic, "elsewhere"))
        #expect(Self.question(&other, other.challenged(by: try Self.offers(.httpBasic)))?.previousFailureCount == 0)
    }

    // Proves: RED-11, URL-10, SEC-32.
    @Test func `the credential of the URL is for its server alone`() throws {
        for host in ["other", "h"] {
            var machine = try Self.machine("http://me:secret@h/")
            _ = machine.convinced(status: 302)
            let action = machine.challenged(by: [try Self.offer(Self.space(.httpBasic, host: host))])
            #expect((Self.retried(action) != nil) == (host == "h"))
        }
        var proxied = try Self.machine("http://me:secret@h/")
        let offer = try Self.offer(Self.space(.httpBasic, isProxy: true))
        #expect(Self.question(&proxied, proxied.challenged(by: [offer])) != nil)
        var refused = try Self.machine("http://me:secret@h/")
        _ = refused.challenged(by: try Self.offers(.httpDigest))
        #expect(Self.question(&refused, refused.challenged(by: try Self.offers(.httpBasic))) != nil)
    }

    // Proves: CRD-1, CRD-4.
    @Test func `what convinced is kept by its persistence, and what did not is not`() throws {
        for (persistence, status, isKept) in [
            (Credential.Persistence.permanent, 200, true), (.forSession, 404, true), (.none, 200, false),
            (.permanent, 500, false), (.permanent, 401, false),
        ] {
            var machine = try Self.machine()
            _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))
            _ = machine.answered(.useCredential(Credential(user: "u", password: "p", persistence: persistence)))
            #expect(
                machine.convinced(status: status).contains(where: \.isToBeKept) == isKept, "\(persistence) \(status)")
        }
    }

    @Test func `a credential for one request serves all hops of its task`() throws {
        var machine = try Self.machine()
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))
        _ = machine.answered(.useCredential(Self.wrong))
        _ = machine.convinced(status: 302)
        #expect(machine.attempts.isEmpty)
        #expect(Self.retried(machine.challenged(by: try Self.offers(.httpBasic)))?.credential == Self.wrong)
    }

    // Proves: AUT-30.
    @Test func `proxy and server are answered side by side`() throws {
        var machine = try Self.machine()
        let proxy = try Self.offer(Self.space(.httpBasic, isProxy: true))
        _ = Self.question(&machine, machine.challenged(by: [proxy]))
        _ = machine.answered(.useCredential(Self.right))
        #expect(Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))?.previousFailureCount == 0)
        _ = machine.answered(.useCredential(Self.wrong))
        #expect(machine.attempts.map(\.space.isProxy) == [true, false])
        #expect(Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic)))?.previousFailureCount == 1)
        #expect(machine.convinced(status: 401).map(\.credential) == [Self.right])
    }

    // `auth-int` alone, and a body that can be read only once.
    // Proves: AUT-23.
    @Test func `a scheme that cannot even begin is passed over without a failure`() throws {
        var machine = try Self.machine()
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.httpDigest, .httpBasic)))
        let attempt = try #require(Self.retried(machine.answered(.useCredential(Self.right))))
        let question = Self.question(&machine, machine.couldNotBegin(attempt))
        #expect(question?.space == Self.space(.httpBasic) && question?.previousFailureCount == 0)
    }

    // Proves: AUT-4, AUT-25.
    @Test func `a Kerberos password that gets no ticket has failed, and the same one again rejects the space`() throws {
        var machine = try Self.machine()
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.negotiate)))
        let first = try #require(Self.retried(machine.answered(.useCredential(Self.wrong))))
        let question = Self.question(&machine, machine.couldNotBegin(first))
        #expect(question?.space == Self.space(.negotiate) && question?.previousFailureCount == 1)
        #expect(question?.proposedCredential == Self.wrong)
        let second = try #require(Self.retried(machine.answered(.useCredential(Self.wrong))))
        #expect(machine.couldNotBegin(second) == .deliver)
    }

    // As every IIS offers them, to who knows no KDC.
    @Test(arguments: [ProtectionSpace.Method.ntlm, .httpDigest, .httpBasic])
    func `a password that gets no ticket is for the next scheme that takes one`(_ next: ProtectionSpace.Method) throws {
        var machine = try Self.machine()
        _ = Self.question(&machine, machine.challenged(by: try Self.offers(.negotiate, next)))
        let attempt = try #require(Self.retried(machine.answered(.useCredential(Self.right))))
        let question = Self.question(&machine, machine.couldNotBegin(attempt))
        #expect(question?.space == Self.space(next) && question?.previousFailureCount == 0)
    }

    // Proves: AUT-13.
    @Test func `without a ticket the delegate is asked after all`() throws {
        var machine = try Self.machine()
        _ = machine.challenged(by: try Self.offers(.negotiate))
        let attempt = try #require(Self.retried(machine.lookedUp(Credential(kerberosTicketsIn: nil))))
        let question = Self.question(&machine, machine.couldNotBegin(attempt))
        #expect(question?.space == Self.space(.negotiate) && question?.previousFailureCount == 0)
    }

    // Proves: AUT-19.
    @Test func `one attempt and then cancel can be said`() throws {
        var machine = try Self.machine()
        func rule(_ question: Machine.Question) -> Challenge.Disposition {
            question.previousFailureCount == 0 ? .useCredential(Self.wrong) : .cancelAuthenticationChallenge
        }
        let first = try #require(Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic))))
        #expect(Self.retried(machine.answered(rule(first))) != nil)
        let second = try #require(Self.question(&machine, machine.challenged(by: try Self.offers(.httpBasic))))
        #expect(machine.answered(rule(second)) == .cancel)
    }
}
