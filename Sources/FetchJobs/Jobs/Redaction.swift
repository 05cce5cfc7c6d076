import FetchEngine
import HTTPTypes

/// The text in place of a secret, wherever a job is stored or shown.
package enum Redaction {
    package static let text = "<redacted>"
    /// The same in a URL.
    static let escapedText = "%3Credacted%3E"

    /// What stands in place of the secrets of a job.
    package enum Form: String, Sendable, CaseIterable {
        /// ``Redaction/text``, which says nothing of them.
        case text
        /// `REDACTED:` and the SHA-256 of the secret in hexadecimal digits, so that equal ones can be told.
        case digest

        private static let prefix = "REDACTED:"

        /// What stands in place of a secret; a text that stands in its place already stays.
        func text(for secret: String) -> String { Redaction.isText(secret) ? secret : text(for: Array(secret.utf8)) }

        func text(for secret: [UInt8]) -> String {
            switch self {
            case .text: Redaction.text
            case .digest: Self.prefix + SHA256Digest(of: secret).hexadecimal(32)
            }
        }

        fileprivate static func isDigest(_ text: String) -> Bool {
            guard text.hasPrefix(prefix) else { return false }
            let digits = text.utf8.dropFirst(prefix.utf8.count)
            return digits.count == 64 && Hexadecimal.decode(digits)?.count == 32
        }
    }

    /// Whether a text stands in place of a secret.
    static func isText(_ text: String) -> Bool { text == self.text || Form.isDigest(text) }

    /// Whether a field of this name is shown without its value.
    package static func hides(fieldNamed name: String) -> Bool {
        HTTPField.Name(name).map { $0.isOfCredential || $0 == .setCookie } ?? false
    }
}

/// The parts of the URLs of a job that are stored and shown.
package enum URLForm: Sendable {
    case whole
    case withoutQuery

    /// A URL without user name and password.
    func text(of url: URLRecord) -> String {
        let url = url.withoutCredentials()
        guard self == .withoutQuery, url.query != nil else { return url.description }
        return "\(url.withoutQuery)?\(Redaction.text)" + (url.fragment.map { "#\($0)" } ?? "")
    }
}

extension HTTPFields {
    /// The fields of a response, or those that a request was sent with, as they are stored and shown: without the values
    /// of cookies, which are stored only in their jar, sealed, and without user names and passwords in URLs.
    ///
    /// - Parameter base: The URL of the message, to which its URLs are relative; nil when they have to stand alone.
    func withoutSecrets(relativeTo base: URLRecord?, _ urls: URLForm) -> HTTPFields {
        guard Self.telling.contains(where: contains) else { return self }
        var fields = HTTPFields()
        for var field in self {
            switch field.name {
            case .setCookie: field.value = Self.withoutValue(field.value)
            case .location, .contentLocation, .referer:
                field.value = Self.redacted(url: field.value, relativeTo: base, urls)
            case .link, .refresh: if urls.hides(field.value) { field.value = Redaction.text }
            default: break
            }
            fields.append(field)
        }
        return fields
    }

    /// The fields that may hold secrets.
    private static let telling: [HTTPField.Name] = [.setCookie, .location, .contentLocation, .referer, .link, .refresh]

    /// `sid=…; Path=/` without the text between the name and the attributes.
    private static func withoutValue(_ cookie: String) -> String {
        let pair = cookie.prefix { $0 != ";" }
        let name = pair.firstIndex(of: "=").map { pair[...$0] } ?? ""
        return "\(name)\(Redaction.text)\(cookie[pair.endIndex...])"
    }

    private static func redacted(url text: String, relativeTo base: URLRecord?, _ urls: URLForm) -> String {
        guard urls.hides(text) else { return text }
        let url = try? base.map { try $0.resolve(text) } ?? URLRecord(text)
        return url.map(urls.text) ?? Redaction.text
    }
}

extension URLForm {
    /// Whether a text with URLs in it may have to be changed.
    fileprivate func hides(_ text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: "@")) || self == .withoutQuery && text.utf8.contains(UInt8(ascii: "?"))
    }
}

extension HTTPField.Name {
    fileprivate static let link = Self(constant: "link")
    fileprivate static let refresh = Self(constant: "refresh")
}
