import FetchEngine
import HTTPTypes

/// How the secrets of a job are written.
enum SecretForm {
    /// With a text in their places: for storage in clear, and for showing.
    case redacted
    /// As they are: for sealing.
    case open
}

extension JobRequest {
    func write(_ writer: inout JSONWriter, _ form: SecretForm) {
        let urls = form == .open ? .whole : urlForm
        writer.member("url", urls.text(of: url))
        writer.member("writtenURL", writtenURL)
        if !mirrors.isEmpty {
            writer.member("mirrors", array: { writer in for mirror in mirrors { writer.value(urls.text(of: mirror)) } })
        }
        writer.member("method", method.rawValue)
        if !headers.isEmpty {
            writer.member(
                "headers", array: { writer in for field in headers { field.write(&writer, form, redaction) } })
        }
        if !attemptHeaders.isEmpty {
            writer.member("attemptHeaders", array: { writer in for field in attemptHeaders { field.write(&writer) } })
        }
        if let body {
            let isHidden = form == .redacted && sensitive.contains(.body)
            writer.member("body", object: { (isHidden ? body.redacted(as: redaction) : body).write(&$0) })
        }
        if !sensitive.isEmpty {
            let parts = SensitivePart.allCases.filter(sensitive.contains)
            writer.member("sensitive", array: { writer in for part in parts { writer.value(part.rawValue) } })
        }
        if redaction != .text { writer.member("redaction", redaction.rawValue) }
        writer.member("cachePolicy", cachePolicy?.rawValue)
        writer.member("mainDocumentURL", mainDocumentURL.map(urls.text))
        writer.member("properties", properties)
    }

    /// Method and URL as lists show them: without the query, which may hold secrets.
    package var shown: String { "\(method.rawValue) \(url.description.prefix { $0 != "?" && $0 != "#" })" }

    /// The parts of the URLs of a job that are stored and shown.
    package var urlForm: URLForm { sensitive.contains(.query) ? .withoutQuery : .whole }

    /// The places where a text stands for a secret, as pointers into the job.
    var redactions: [String] {
        var pointers: [String] = []
        for (index, field) in headers.enumerated() where Redaction.isText(field.value) {
            pointers.append("/request/headers/\(index)/value")
        }
        if url.query == Redaction.escapedText { pointers.append("/request/url") }
        for (index, mirror) in mirrors.enumerated() where mirror.query == Redaction.escapedText {
            pointers.append("/request/mirrors/\(index)")
        }
        if mainDocumentURL?.query == Redaction.escapedText { pointers.append("/request/mainDocumentURL") }
        if case .text(let text) = body, Redaction.isText(text) { pointers.append("/request/body") }
        return pointers
    }

    /// The secret parts in the form that is sealed; nil when there are none, or they are sealed already.
    var secretBytes: [UInt8]? {
        guard !sensitive.isEmpty || headers.contains(where: \.isSensitive), redactions.isEmpty else { return nil }
        var secret = self
        // A body that is no secret lies with the rest of the job.
        if !sensitive.contains(.body) { secret.body = nil }
        return JSONWriter.object { secret.write(&$0, .open) }
    }

    /// Puts the sealed secrets back in their places.
    mutating func restore(secret json: JSONValue) throws {
        let check = InputCheck()
        var userInfo: Credential?
        let secret = JobRequest(reader: JSONReader(json, check: check), userInfo: &userInfo)
        try check.finish()
        guard let secret else { throw InvalidInput(pointer: "/request", message: "is not what was sealed") }
        headers = secret.headers
        // URLs without a secret may have changed since.
        if sensitive.contains(.query) {
            setURLs(secret.urls)
            mainDocumentURL = secret.mainDocumentURL
        }
        if sensitive.contains(.body) { body = secret.body }
    }
}

extension JobBody {
    /// Whether its bytes, or some of them, are not in the job.
    var isElsewhere: Bool { self == .stream || !blobs.isEmpty }

    /// What stands in its place where it is a secret: a text, whatever its form is.
    fileprivate func redacted(as form: Redaction.Form) -> JobBody {
        switch self {
        case .text(let text): .text(form.text(for: text))
        case .base64(let bytes): .text(form.text(for: bytes))
        case .json(let value): .text(form.text(for: value.json))
        case .form, .multipart, .blob, .stream: .text(form.text(for: JSONWriter.object { write(&$0) }))
        }
    }
}
