import HTTPTypes

/// A protection space that a response asks to authenticate for, by a scheme we know.
struct AuthenticationOffer: Equatable {
    typealias Party = ProtectionSpace.Party

    var space: ProtectionSpace
    /// What HTTP Digest asks; nil for the other schemes.
    var digest: DigestChallenge?

    /// The offers of a response, strongest first; none when it is an ordinary response.
    ///
    /// A 401 speaks for the server and a 407 for the proxy; without the field that belongs to it, neither asks for
    /// anything. Unknown schemes are passed over (RFC 9110 §11.6).
    static func all(
        in fields: HTTPFields, status: Int, server: @autoclosure () -> Party, proxy: @autoclosure () -> Party?
    ) -> [AuthenticationOffer] {
        switch status {
        case 401: all(OfferedChallenge.all(of: .wwwAuthenticate, in: fields), from: server())
        case 407:
            proxy().map { all(OfferedChallenge.all(of: .proxyAuthenticate, in: fields), from: $0) } ?? []
        default: []
        }
    }

    /// More spaces than this are not looked at.
    private static let maximum = 16

    private static func all(_ challenges: [OfferedChallenge], from party: Party) -> [AuthenticationOffer] {
        let offers = challenges.compactMap { AuthenticationOffer($0, from: party) }
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

    private init?(_ challenge: OfferedChallenge, from party: Party) {
        let method: ProtectionSpace.Method
        switch challenge.scheme {
        case "negotiate": method = .negotiate
        case "digest": method = .httpDigest
        case "ntlm": method = .ntlm
        case "bearer": method = .httpBearer
        case "basic": method = .httpBasic
        default: return nil
        }
        let named = method == .httpBasic || method == .httpDigest || method == .httpBearer
        if method == .httpDigest {
            guard let digest = DigestChallenge(challenge) else { return nil }
            self.digest = digest
        }
        space = ProtectionSpace(
            host: party.host, port: party.port, scheme: party.scheme, realm: named ? challenge.text("realm") : nil,
            method: method, isProxy: party.isProxy)
    }

    /// How hard the answer is to abuse.
    ///
    /// Kerberos tickets and Digest answers are made for one server or one request. An NTLM answer can be passed on
    /// by whoever gets it. A bearer token and a Basic password are the secret itself, and the token is the lesser one.
    private var strength: Int {
        switch space.method {
        case .negotiate: 20
        case .httpDigest: 10 + (digest?.algorithm.strength ?? 0)
        case .ntlm: 5
        case .httpBearer: 4
        case .httpBasic: 3
        case .default, .awsSigV4, .htmlForm, .clientCertificate, .serverTrust: 0
        }
    }
}
