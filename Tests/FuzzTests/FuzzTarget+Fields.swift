import HTTPTypes

@testable import FetchEngine

// The readers of fields of responses, of URLs that clients write, and of the keys that they bring.
extension FuzzTarget {
    func runOnFields(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .targetGuard: Self.targetGuard(text)
        case .headerFields: Self.headerFields(bytes)
        case .contentRange: Self.contentRange(text)
        case .dates: Self.dates(bytes)
        case .keys: Self.keys(bytes)
        case .digestFields: Self.digestFields(text)
        default: preconditionFailure("\(self) is read elsewhere")
        }
    }

    /// A URL that the guard lets pass reads as itself, and passes again.
    private static func targetGuard(_ text: String) {
        let guardian = TargetGuard(policy: .publicOnly)
        if let url = try? guardian.target(text) {
            precondition((try? URLRecord("\(url)")) == url && url.isHTTP)
            precondition((try? guardian.judge(url)) != nil)
        }
        guard let base = try? URLRecord("https://www.example.com/a/b?c") else { return }
        if let url = try? guardian.target(text, from: base) { precondition((try? URLRecord("\(url)")) == url) }
    }

    /// The lines of a trailer section.
    private static func headerFields(_ bytes: [UInt8]) {
        var collector = HeadCollector(FieldNames())
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.withUnsafeBytes({ collector.append($0) }) { break }
        }
        guard let fields = try? collector.trailers() else { return }
        precondition(fields.count <= HeadCollector.maximumFields)
        _ = Cookie.verdicts(onResponseHeaderFields: fields, from: CookieContext(url: plainURL), at: .init(seconds: 0))
        let response = Response(url: plainURL, status: .ok, headerFields: fields)
        _ = (response.mimeType, response.suggestedFilename, response.retryAfter(now: .init(seconds: 0)))
    }

    private static let plainURL: URLRecord = {
        guard let url = try? URLRecord("https://www.example.com/") else { preconditionFailure("a URL") }
        return url
    }()

    /// A range lies within the whole.
    private static func contentRange(_ text: String) {
        if let field = ContentRange(text), let range = field.range, let total = field.total {
            precondition(range.lowerBound >= 0 && range.upperBound < total)
        }
        if case .part(let range) = ByteRange([text], length: 100) {
            precondition(range.lowerBound >= 0 && range.upperBound <= 100)
        }
    }

    private static func dates(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = CookieDate.parse(bytes[...])
        _ = HTTPDate.time(text, now: UnixTime(seconds: 1_700_000_000))
        // A time that FTP writes reads as that time.
        if let seconds = FTPTime.seconds(text) { precondition(FTPTime.seconds(FTPTime.text(seconds)) == seconds) }
    }

    /// PEM and PKCS #12, with a passphrase and without.
    private static func keys(_ bytes: [UInt8]) {
        _ = CertificateCoding.certificates(inPEM: bytes)
        _ = try? ClientIdentity(pkcs12: bytes, passphrase: "secret")
        _ = try? ClientIdentity(certificateChain: bytes, privateKey: bytes, passphrase: "secret")
        _ = try? ClientIdentity(certificateChain: bytes, privateKey: bytes)
    }

    /// A digest that is read has its algorithm's length, and reads as itself.
    private static func digestFields(_ text: String) {
        if let digest = ExpectedDigest(field: [text]) {
            precondition(digest.bytes.count == digest.algorithm.byteCount)
            precondition(ExpectedDigest(field: ["\(digest)"]) == digest)
        }
        var fields = HTTPFields()
        for name in ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "Trailer"] {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, lenientValue: Array(text.utf8))) }
        }
        _ = ContentCheck(fields, isPart: false)?.isMet(by: fields)
    }
}
