import FetchEngine
import HTTPTypes

// The JSON of a question, which never has a secret.
extension Question {
    /// Writes the members of the few facts that a decision is remembered with.
    package func writeSummary(_ writer: inout JSONWriter, _ urls: URLForm = .whole) {
        switch subject {
        case .redirection(let redirection):
            writer.member("from", urls.text(of: request.url))
            writer.member("to", urls.text(of: redirection.proposed.url))
            writer.member("status", redirection.response.status.code)
            writer.member("hop", redirection.hop)
        case .canonicalization(let change):
            writer.member("original", change.written ?? urls.text(of: change.original))
            writer.member("canonical", urls.text(of: change.proposed.url))
            writer.member("reason", change.reason.rawValue)
        case .challenge(let challenge):
            writer.member("protectionSpace", object: challenge.space.write)
            writer.member("previousFailureCount", challenge.previousFailureCount)
        case .serverTrust(let trust):
            writer.member("host", trust.host)
            writer.member("port", trust.port)
            trust.writeVerdict(&writer)
            writer.member("sha256", trust.fingerprint.description)
        case .response(let response, let part):
            writer.member("url", urls.text(of: response.url))
            writer.member("status", response.status.code)
            writer.member("mimeType", response.mimeType)
            writer.member("expectedContentLength", response.expectedContentLength)
            writer.member("part", part)
        case .decoding(let type): writer.member("mimeType", type)
        case .destination(let name, let length):
            writer.member("suggestedFilename", name)
            writer.member("expectedContentLength", length)
        case .body(let reason, let offset):
            writer.member("reason", reason.rawValue)
            writer.member("offset", offset)
        case .caching(let facts):
            writer.member("url", urls.text(of: facts.response.url))
            writer.member("status", facts.response.status.code)
            writer.member("bodyBytes", facts.bodyBytes)
            writer.member("storagePolicy", facts.storagePolicy.rawValue)
        case .delayedRequest: writer.member("url", urls.text(of: request.url))
        }
    }

    /// Writes all facts that a delegate is shown.
    package func writeFacts(_ writer: inout JSONWriter, _ urls: URLForm = .whole) {
        switch subject {
        case .redirection(let redirection):
            writer.member("response", object: { redirection.response.writeWithoutSecrets(&$0, urls) })
            writer.member("proposed", object: { redirection.proposed.writeHead(&$0, urls) })
            writer.member("hop", redirection.hop)
            writer.member("maximumHops", redirection.maximumHops)
        case .canonicalization, .decoding, .destination, .body, .delayedRequest: writeSummary(&writer, urls)
        case .challenge(let challenge):
            writer.member("protectionSpace", object: challenge.space.write)
            writer.member("level", isSessionLevel ? "session" : "job")
            writer.member("previousFailureCount", challenge.previousFailureCount)
            if let user = challenge.proposedUser {
                writer.member(
                    "proposedCredential",
                    object: { writer in
                        writer.member("id", challenge.proposedID?.description)
                        writer.member("user", user.isEmpty ? nil : user)
                    })
            }
            if let response = challenge.failureResponse {
                writer.member("failureResponse", object: { response.writeWithoutSecrets(&$0, urls) })
            }
            writer.member("offered", array: { writer in challenge.offered.forEach { writer.value($0.rawValue) } })
        case .serverTrust(let trust):
            writer.member("host", trust.host)
            writer.member("port", trust.port)
            trust.writeVerdict(&writer)
            writer.member("spki", trust.publicKeyFingerprint?.description)
            writer.member("chainSHA256", trust.chainFingerprint.description)
            writer.member(
                "chain",
                array: { writer in
                    for certificate in trust.certificates.prefix(10) {
                        writer.object { writer in
                            writer.member("sha256", Fingerprint(of: certificate).description)
                            CertificateSummary(der: certificate)?.write(&writer)
                        }
                    }
                })
        case .response(let response, let part):
            writer.member("response", object: { response.writeWithoutSecrets(&$0, urls) })
            writer.member("part", part)
        case .caching(let facts):
            writer.member("response", object: { facts.response.writeWithoutSecrets(&$0, urls) })
            writer.member("bodyBytes", facts.bodyBytes)
            writer.member("storagePolicy", facts.storagePolicy.rawValue)
        }
    }
}

extension CertificateSummary {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("subject", subject)
        writer.member("issuer", issuer)
        writer.member("names", alternativeNames)
        writer.member("notBefore", notBefore.map { Timestamp(microseconds: $0 * 1_000_000).description })
        writer.member("notAfter", notAfter.map { Timestamp(microseconds: $0 * 1_000_000).description })
        writer.member("spki", publicKey?.description)
        writer.member("pem", pem)
    }
}

extension ServerTrust {
    fileprivate func writeVerdict(_ writer: inout JSONWriter) {
        switch verdict {
        case .trusted: writer.member("verdict", "trusted")
        case .rejected(let code, let reason):
            writer.member("verdict", "rejected")
            writer.member("error", code.name)
            writer.member("reason", reason)
        }
    }
}

extension Request {
    /// Writes URL, method and header fields; a sensitive field is there without its value.
    package func writeHead(_ writer: inout JSONWriter, _ urls: URLForm) {
        writer.member("url", urls.text(of: url))
        writer.member("method", method.rawValue)
        writer.member("headers", array: { writer in for field in headerFields { field.write(&writer, .redacted) } })
    }
}
