import FetchEngine
import HTTPTypes

/// `Set-Cookie` fields of an answer that a client has, to be read by the rules of RFC 6265bis.
package struct CookieReading: Sendable {
    private let cookies: [Cookie]
    private let rejected: [CookieVerdict]
    /// The value of the field that a request to the same URL would have.
    private let field: String?

    /// Reads and checks the body of a request.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["url", "mainDocumentURL", "setCookie"])
        let url = object?.required("url").flatMap { Self.url($0) }
        let document = object?["mainDocumentURL"].map { Self.url($0) }
        let lines = object?.required("setCookie")?.array(maximum: 1000)?.map { $0.string(maximumLength: 16_384) ?? "" }
        try check.finish()
        guard let url, let lines else { throw InvalidInput(pointer: "", message: "must be an object") }
        let (context, now) = (CookieContext(url: url, mainDocumentURL: document.flatMap { $0 }), UnixTime.now)
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .setCookie, lenientValue: line.utf8)) }
        let verdicts = Cookie.verdicts(onResponseHeaderFields: fields, from: context, at: now).map { verdict in
            // No host that can be asked has a longer name (RFC 1035 §2.3.4).
            if case .accepted(let cookie) = verdict, cookie.domain.utf8.count > 253 {
                return CookieVerdict.rejected(name: cookie.name, .domainInvalid)
            }
            return verdict
        }
        cookies = verdicts.compactMap { if case .accepted(let cookie) = $0 { cookie } else { nil } }
        rejected = verdicts.filter { $0.rejection != nil }
        var jar = CookieJar()
        for cookie in cookies { try? jar.set(cookie, at: now) }
        field = Cookie.requestHeaderFields(with: jar.cookies(for: context, at: now))[.cookie]
    }

    private static func url(_ reader: JSONReader) -> URLRecord? {
        guard let text = reader.string(maximumLength: 16_384) else { return nil }
        guard let url = try? URLRecord(text), url.isHTTP else {
            reader.refuse("must be an http or https URL")
            return nil
        }
        return url
    }

    /// Writes the cookies that are taken, those that are not, and the field that would send the former to the URL.
    package func write(_ writer: inout JSONWriter) {
        writer.member("cookies", array: { writer in for cookie in cookies { writer.object { cookie.write(&$0) } } })
        writer.member("rejected", array: { writer in rejected.forEach { $0.writeRejection(&writer) } })
        writer.member("cookie", field)
    }
}
