/// The protection spaces of servers that a session has learned, so that servers need not ask again.
///
/// It holds no credentials: those are in the store, or were for one request.
struct SpaceMemory {
    private struct Entry {
        var space: ProtectionSpace
        /// The directories, or the whole paths where Digest named them, that belong to the space.
        var prefixes: Set<String> = []
        var digest: DigestSession?
        /// The last challenge of the server, for the schemes of the program.
        var challenge: OfferedChallenge?
    }

    /// When there are more, all are forgotten: then servers ask again.
    private static let maximumEntries = 1024
    private static let maximumPrefixes = 64
    /// Of one server, which are looked through one by one; when there are more, the oldest is forgotten.
    private static let maximumSpaces = 16

    private var entries: [URLRecord.Origin: [Entry]] = [:]
    private var count = 0

    var isEmpty: Bool { entries.isEmpty }

    /// The known space of a URL; of several the one whose path is longest.
    ///
    /// - Parameter isProxy: Whether the URL stands for a proxy, with its host and port.
    func space(for url: URLRecord, isProxy: Bool = false) -> ProtectionSpace? {
        guard !entries.isEmpty, let entries = entries[url.origin]?.filter({ $0.space.isProxy == isProxy }) else {
            return nil
        }
        let path = url.path
        var best: (length: Int, space: ProtectionSpace)?
        for entry in entries {
            for prefix in entry.prefixes where path.hasPrefix(prefix) && prefix.utf8.count > best?.length ?? -1 {
                best = (prefix.utf8.count, entry.space)
            }
        }
        return best?.space
    }

    /// A server has asked for authentication: the nonce of Digest is used from now on.
    ///
    /// - Parameter isOfProgram: Whether a scheme of the program's own answers, which gets the challenge.
    mutating func challenged(by offer: AuthenticationOffer, at url: URLRecord, isOfProgram: Bool = false) {
        if let digest = offer.digest {
            change(offer.space, at: url) { $0.digest = DigestSession(digest) }
        } else if isOfProgram {
            change(offer.space, at: url) { $0.challenge = offer.challenge }
        }
    }

    /// A server at a URL has accepted a credential.
    ///
    /// With Basic, all paths at or below the directory of the URL belong to the space (RFC 7617 §2.2). With Digest it
    /// is what `domain` names, or the whole server (RFC 7616 §3.3); other servers that it names are not believed.
    /// A bearer token states nothing of the kind and is treated as Basic. The others are for connections, not paths.
    ///
    /// - Parameter isPreemptive: Whether the scheme sends a credential without a challenge.
    mutating func convinced(_ space: ProtectionSpace, at url: URLRecord, isPreemptive: Bool) {
        switch space.method {
        case .httpDigest where space.isProxy, _ where isPreemptive && space.isProxy:
            change(space, at: url) { $0.prefixes = ["/"] }
        case _ where isPreemptive:
            // Most requests tell nothing new.
            guard self.space(for: url) != space else { return }
            let path = url.path
            change(space, at: url) { $0.prefixes.insert(Self.directory(of: path)) }
        case .httpDigest:
            change(space, at: url) { entry in
                entry.prefixes.formUnion(Self.prefixes(of: entry.digest?.challenge.domain ?? [], at: url))
            }
        default: break
        }
    }

    /// Makes the next Digest answer of a space; nil when there is no nonce, or no answer can be made.
    mutating func answer(
        for space: ProtectionSpace, at url: URLRecord, by credential: Credential, to target: DigestSession.Target,
        clientNonce: [UInt8]
    ) -> [UInt8]? {
        guard let password = credential.password else { return nil }
        var answer: [UInt8]?
        change(space, at: url) { entry in
            answer = entry.digest?.answer(
                user: credential.user, password: password, to: target, clientNonce: clientNonce)
        }
        return answer
    }

    /// The Digest challenge of the server.
    func digest(of space: ProtectionSpace, at url: URLRecord) -> DigestChallenge? {
        entries[url.origin]?.first { $0.space == space }?.digest?.challenge
    }

    /// The challenge of the server, for a scheme of the program.
    func challenge(of space: ProtectionSpace, at url: URLRecord) -> OfferedChallenge? {
        entries[url.origin]?.first { $0.space == space }?.challenge
    }

    /// Goes on with the nonce of an `Authentication-Info` field (RFC 7616 §3.5).
    mutating func renew(_ space: ProtectionSpace, at url: URLRecord, nonce: [UInt8]) {
        change(space, at: url) { $0.digest?.renew(nonce: nonce) }
    }

    /// Forgets everything.
    mutating func forget() { self = SpaceMemory() }

    private mutating func change(_ space: ProtectionSpace, at url: URLRecord, _ change: (inout Entry) -> Void) {
        let origin = url.origin
        if let index = entries[origin]?.firstIndex(where: { $0.space == space }) {
            change(&entries[origin, default: []][index])
            if entries[origin, default: []][index].prefixes.count > Self.maximumPrefixes {
                entries[origin, default: []][index].prefixes = []
            }
            return
        }
        if count >= Self.maximumEntries { forget() }
        if entries[origin]?.count == Self.maximumSpaces {
            entries[origin]?.removeFirst()
            count -= 1
        }
        var entry = Entry(space: space)
        change(&entry)
        entries[origin, default: []].append(entry)
        count += 1
    }

    private static func directory(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "/" }
        return String(path[...end])
    }

    private static func prefixes(of domain: [String], at url: URLRecord) -> Set<String> {
        let named = domain.compactMap { try? url.resolve($0) }.filter { $0.origin == url.origin }
        // A server that names other servers alone has said nothing about itself.
        return named.isEmpty ? ["/"] : Set(named.map(\.path))
    }
}
