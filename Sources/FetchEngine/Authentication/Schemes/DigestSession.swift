/// A nonce of a server and how often it was used: makes the `Authorization` fields of HTTP Digest (RFC 7616 §3.4).
///
/// It holds no credential. libcurl keeps such a state in a handle, and a handle serves one request only; besides it
/// takes SHA-256 for SHA-512-256, hashes no content for `auth-int` and knows neither `nextnonce` nor `username*`.
struct DigestSession: Equatable {
    /// The parts of the request that the answer covers.
    struct Target {
        var method: String
        /// The path and query as they stand in the request line.
        var uri: String
        /// The hash of the content in hexadecimal digits; needed for `auth-int` alone.
        var contentHash: [UInt8]?
    }

    private(set) var challenge: DigestChallenge
    private(set) var count: UInt32 = 0
    /// The client's nonce of the first answer, which a session key is made with.
    private var firstClientNonce: [UInt8]?

    init(_ challenge: DigestChallenge) { self.challenge = challenge }

    /// Goes on with the nonce that the server named beside an answer (RFC 7616 §3.5).
    mutating func renew(nonce: [UInt8]) {
        challenge.nonce = nonce
        count = 0
        firstClientNonce = nil
    }

    /// The value of the next `Authorization` field.
    ///
    /// - Parameters:
    ///   - target: The request.
    ///   - clientNonce: Random characters of base64, new for each call.
    /// - Returns: nil when the hash of the content is needed and missing, or the algorithm is switched off.
    mutating func answer(user: String, password: String, to target: Target, clientNonce: [UInt8]) -> [UInt8]? {
        count &+= 1
        let nonce = challenge.isSession ? firstClientNonce ?? clientNonce : clientNonce
        firstClientNonce = nonce
        guard let response = response(user: user, password: password, to: target, clientNonce: nonce) else {
            return nil
        }
        var field = FieldText("Digest ")
        append(user, to: &field)
        field.append("realm", quoting: challenge.realm)
        field.append("uri", quoting: Array(target.uri.utf8))
        if challenge.namesAlgorithm { field.append("algorithm", algorithmName) }
        field.append("nonce", quoting: challenge.nonce)
        if let protectionName {
            field.append("nc", String(decoding: countDigits, as: UTF8.self))
            field.append("qop", protectionName)
        }
        if challenge.protection != .legacy || challenge.isSession { field.append("cnonce", quoting: nonce) }
        field.append("response", quoting: response)
        if let opaque = challenge.opaque { field.append("opaque", quoting: opaque) }
        if challenge.hashesUser { field.append("userhash", "true") }
        return field.bytes
    }

    private var algorithmName: String { challenge.algorithm.rawValue + (challenge.isSession ? "-sess" : "") }

    private var protectionName: String? {
        switch challenge.protection {
        case .legacy: nil
        case .auth: "auth"
        case .authInt: "auth-int"
        }
    }

    private var countDigits: [UInt8] {
        withUnsafeBytes(of: count.bigEndian) { Hexadecimal.encode($0) }
    }

    /// The user name as it is, hashed, or encoded (RFC 7616 §3.4, §3.4.4; RFC 8187).
    private func append(_ user: String, to field: inout FieldText) {
        if challenge.hashesUser {
            field.append("username", quoting: hash([Array(user.utf8), challenge.realm]) ?? [])
        } else if challenge.isUTF8, user.utf8.contains(where: { $0 >= 0x80 }) {
            field.append("username*", "UTF-8''" + Self.extended(user))
        } else {
            field.append("username", quoting: Array(user.utf8))
        }
    }

    private static func extended(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 { bytes.append(byte, encoding: .extendedValue) }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: The mathematics (RFC 7616 §3.4.1 to §3.4.3)

    private func response(user: String, password: String, to target: Target, clientNonce: [UInt8]) -> [UInt8]? {
        guard var key = hash([Array(user.utf8), challenge.realm, Array(password.utf8)]) else { return nil }
        if challenge.isSession {
            guard let sessionKey = hash([key, challenge.nonce, clientNonce]) else { return nil }
            key = sessionKey
        }
        var request = [Array(target.method.utf8), Array(target.uri.utf8)]
        if challenge.protection == .authInt {
            guard let contentHash = target.contentHash else { return nil }
            request.append(contentHash)
        }
        guard let requestHash = hash(request) else { return nil }
        guard let protectionName else { return hash([key, challenge.nonce, requestHash]) }
        return hash([key, challenge.nonce, countDigits, clientNonce, Array(protectionName.utf8), requestHash])
    }

    private func hash(_ parts: [[UInt8]]) -> [UInt8]? {
        challenge.algorithm.hash(Array(parts.joined(separator: [UInt8(ascii: ":")])))
    }
}

/// Puts a field of comma-separated parameters together.
private struct FieldText {
    private(set) var bytes: [UInt8]
    private var isFirst = true

    init(_ start: String) { bytes = Array(start.utf8) }

    mutating func append(_ name: String, _ word: String) {
        begin(name)
        bytes.append(contentsOf: word.utf8)
    }

    mutating func append(_ name: String, quoting text: [UInt8]) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func begin(_ name: String) {
        if !isFirst { bytes.append(contentsOf: ", ".utf8) }
        isFirst = false
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "="))
    }
}
