/// Which chains of one host a handshake may go on with.
struct TrustRules: Hashable {
    /// The action on a chain.
    enum Decision: Equatable {
        /// The handshake goes on; without looking at the verdict when `overriding`.
        case accept(overriding: Bool)
        /// The handshake fails with the verdict's error.
        case reject
        /// The handshake fails, and the delegate is asked about the chain before another is made.
        case ask
    }

    /// The servers that the delegate is asked about.
    enum Question: Hashable {
        case nobody
        case untrusted
        case everybody
    }

    /// The certificates that are accepted as they are, from any issuer.
    var acceptedCertificates: Set<Fingerprint> = []
    /// The chains that the delegate has accepted.
    var acceptedChains: Set<Fingerprint> = []
    /// The chains that the delegate left to the verdict.
    var settledChains: Set<Fingerprint> = []
    /// The servers that the delegate is asked about.
    var question = Question.nobody

    /// Whether there is no decision, and no delegate to ask.
    var isPlain: Bool { !canOverride && settledChains.isEmpty && question == .nobody }

    /// Whether a verdict may be overridden at all, the host's name included.
    var canOverride: Bool { !acceptedCertificates.isEmpty || !acceptedChains.isEmpty }

    /// Decides before verification: a chain that was accepted needs none.
    func accepts(_ trust: ServerTrust) -> Bool {
        acceptedChains.contains(trust.chainFingerprint) || acceptedCertificates.contains(trust.fingerprint)
    }

    /// Decides about a chain.
    func decide(_ trust: ServerTrust) -> Decision {
        if accepts(trust) { return .accept(overriding: true) }
        let isSettled = settledChains.contains(trust.chainFingerprint)
        switch (trust.verdict, question) {
        case (.trusted, .everybody) where !isSettled: return .ask
        case (.trusted, _): return .accept(overriding: false)
        case (.rejected, .nobody): return .reject
        case (.rejected, .untrusted), (.rejected, .everybody): return isSettled ? .reject : .ask
        }
    }
}
