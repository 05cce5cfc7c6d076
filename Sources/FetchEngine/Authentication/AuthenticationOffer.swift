import HTTPTypes

/// A protection space that a response asks to authenticate for, by a scheme we know.
struct AuthenticationOffer: Equatable {
    typealias Party = ProtectionSpace.Party

    var space: ProtectionSpace
    /// The challenge of the server.
    var challenge: OfferedChallenge
    /// The parameters of HTTP Digest; nil for other schemes.
    var digest: DigestChallenge?
    /// The strength of the scheme against abuse, and the program's preference for its own schemes.
    private var strength = 0

    /// The offers of a response, strongest first; none when it is an ordinary response.
    ///
    /// A 401 speaks for the server and a 407 for the proxy; without the field that belongs to it, neither asks for
    /// anything. Unknown schemes are passed over (RFC 9110 §11.6), and so are challenges with an endless parameter.
    static func all(
        in fields: HTTPFields, status: Int, schemes: SchemeList = SchemeList(), server: @autoclosure () -> Party,
        proxy: @autoclosure () -> Party?
    ) -> [AuthenticationOffer] {
        switch status {
        case 401: all(OfferedChallenge.all(of: .wwwAuthenticate, in: fields), schemes, from: server())
        case 407:
            proxy().map { all(OfferedChallenge.all(of: .proxyAuthenticate, in: fields), schemes, from: $0) } ?? []
        default: []
        }
    }

    /// More spaces than this are not looked at.
    private static let maximum = 16

    private static func all(
        _ challenges: [OfferedChallenge], _ schemes: SchemeList, from party: Party
    ) -> [AuthenticationOffer] {
        let offers = challenges.compactMap { AuthenticationOffer($0, schemes, from: party) }
        // A stable order: of equal ones the first named goes first.
        let sorted = offers.enumerated().sorted { left, right in
            (right.element.strength, left.offset) < (left.element.strength, right.offset)
        }
        var found: [AuthenticationOffer] = []
        for (_, offer) in sorted where found.count < maximum && !found.contains(where: { $0.space == offer.space }) {
            found.append(offer)
        }
        return found
    }

    private init?(_ challenge: OfferedChallenge, _ schemes: SchemeList, from party: Party) {
        guard challenge.isBounded else { return nil }
        let method: ProtectionSpace.Method
        if let scheme = schemes.named(challenge.scheme) {
            method = scheme.method
        } else {
            switch challenge.scheme {
            case "negotiate": method = .negotiate
            case "digest": method = .httpDigest
            case "ntlm": method = .ntlm
            default: return nil
            }
        }
        if method == .httpDigest, schemes[method] == nil {
            guard let digest = DigestChallenge(challenge) else { return nil }
            self.digest = digest
        }
        let hasRealm = method != .negotiate && method != .ntlm
        self.challenge = challenge
        space = ProtectionSpace(
            host: party.host, port: party.port, scheme: party.scheme, realm: hasRealm ? challenge.text("realm") : nil,
            method: method, isProxy: party.isProxy)
        strength = schemes.preference(of: method) ?? Self.strength(of: method, digest)
    }

    /// The preference of a built-in scheme, by how hard its answer is to abuse.
    ///
    /// Kerberos tickets and Digest answers are valid for one server or one request. The receiver of an NTLM answer can
    /// relay it. A bearer token and a Basic password are the secret itself, and the token is the lesser secret.
    private static func strength(of method: ProtectionSpace.Method, _ digest: DigestChallenge?) -> Int {
        switch method {
        case .negotiate: 20
        case .httpDigest: 10 + (digest?.algorithm.strength ?? 0)
        case .ntlm: 5
        case .httpBearer: 4
        case .httpBasic: 3
        default: 0
        }
    }
}
