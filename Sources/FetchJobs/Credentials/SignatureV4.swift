import Crypto
import FetchEngine
import FoundationEssentials

/// Signs requests as AWS Signature Version 4 says.
///
/// libcurl's own signature is not used: it signs queries as they come, where the rules want them sorted.
package struct SignatureV4: Sendable {
    /// The signer; its secret is never printed.
    package struct Credentials: Sendable, CustomStringConvertible {
        let accessKeyID: String
        let secretAccessKey: String
        let sessionToken: String?

        package init(accessKeyID: String, secretAccessKey: String, sessionToken: String?) {
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.sessionToken = sessionToken
        }

        package var description: String { "<redacted>" }
    }

    /// The signed parts of a request.
    struct Message: Sendable {
        var method: String
        /// Encoded, as it is sent.
        var path: String
        /// Not encoded.
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        /// The SHA-256 of the body in hexadecimal digits, or the constant that stands for it.
        var payload: String
    }

    let credentials: Credentials
    let region: String
    let service: String

    package init(credentials: Credentials, region: String, service: String) {
        self.credentials = credentials
        self.region = region
        self.service = service
    }

    /// The value of `Authorization`.
    ///
    /// - Parameter date: As in `x-amz-date`: `20150830T123600Z`.
    func authorization(for message: Message, date: String) -> String {
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope(date)), "
            + "SignedHeaders=\(Self.signedHeaders(message)), Signature=\(signature(of: message, date: date))"
    }

    /// The query of a message that is signed by it, in order: whoever has it makes the request without a key.
    ///
    /// - Parameter seconds: For how long.
    func signedQuery(of message: Message, date: String, seconds: Int) -> [(name: String, value: String)] {
        var message = message
        message.query += [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", "\(credentials.accessKeyID)/\(scope(date))"), ("X-Amz-Date", date),
            ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", Self.signedHeaders(message)),
        ]
        if let token = credentials.sessionToken { message.query.append(("X-Amz-Security-Token", token)) }
        return message.query + [("X-Amz-Signature", signature(of: message, date: date))]
    }

    private func scope(_ date: String) -> String { "\(date.prefix(8))/\(region)/\(service)/aws4_request" }

    private func signature(of message: Message, date: String) -> String {
        Hexadecimal.text(
            HMAC<SHA256>.authenticationCode(
                for: Data(stringToSign(message, date: date).utf8), using: key(day: String(date.prefix(8)))))
    }

    func stringToSign(_ message: Message, date: String) -> String {
        "AWS4-HMAC-SHA256\n\(date)\n\(scope(date))\n" + Self.hash(Array(Self.canonicalRequest(message).utf8))
    }

    static func canonicalRequest(_ message: Message) -> String {
        let query = message.query.map { (PercentCodec.component($0.name), PercentCodec.component($0.value)) }.sorted {
            $0 < $1
        }
        let headers = canonicalHeaders(message).map { "\($0.name):\($0.value)\n" }.joined()
        return [
            message.method, message.path, query.map { "\($0.0)=\($0.1)" }.joined(separator: "&"), headers,
            signedHeaders(message), message.payload,
        ].joined(separator: "\n")
    }

    private static func signedHeaders(_ message: Message) -> String {
        canonicalHeaders(message).map(\.name).joined(separator: ";")
    }

    /// Names in lower case and order, values without needless spaces, several of one name joined.
    private static func canonicalHeaders(_ message: Message) -> [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for (name, value) in message.headers {
            let words = value.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r\n" })
            values[name.lowercased(), default: []].append(words.joined(separator: " "))
        }
        return values.map { (name: $0.key, value: $0.value.joined(separator: ",")) }.sorted { $0.name < $1.name }
    }

    private func key(day: String) -> SymmetricKey {
        [day, region, service, "aws4_request"].reduce(
            SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
        ) { key, word in
            SymmetricKey(data: Data(HMAC<SHA256>.authenticationCode(for: Data(word.utf8), using: key)))
        }
    }

    // MARK: Texts

    static func hash(_ bytes: [UInt8]) -> String { Hexadecimal.text(SHA256.hash(data: bytes)) }

    /// A time as `x-amz-date` writes it.
    static func date(_ time: Timestamp) -> String {
        let text = time.description
        return text.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
    }
}
