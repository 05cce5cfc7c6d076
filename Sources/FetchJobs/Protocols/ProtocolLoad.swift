package import FetchEngine
import FoundationEssentials
import HTTPTypes

/// A load as a message to the address of a registered protocol.
package struct ProtocolLoad: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "lod"
    }

    package typealias ID = Identifier<Kind>

    /// The type of the message.
    package static let messageType = "protocol.load"
    /// How many bytes a request's body may have: it is part of the signed message.
    package static let maximumBody = 8 << 20

    /// A new one each time that it is sent.
    package let id = ID()
    package let at: Timestamp
    /// The name of the protocol.
    package let name: String
    package let job: Job.ID?
    package let request: Request
    package let body: [UInt8]?
    /// The stored response that the protocol may confirm; nil when there is none.
    package let cached: Response?
    /// The disposition of the challenge before; nil when there was none.
    package let answer: Challenge.Disposition?

    package init(
        of request: Request, body: [UInt8]?, to name: String, job: Job.ID?, cached: Response?,
        answer: Challenge.Disposition?, at time: Timestamp = .now
    ) {
        at = time
        self.name = name
        self.job = job
        self.request = request
        self.body = body
        self.cached = cached
        self.answer = answer
    }

    /// The whole message, with every secret of the request: the protocol is its origin.
    package var message: [UInt8] {
        JSONWriter.object { writer in
            writer.member("type", Self.messageType)
            writer.member("timestamp", at.description)
            writer.member("data", object: write)
        }
    }

    private func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("protocol", name)
        writer.member("job", job?.description)
        writer.member("request", object: writeRequest)
        if let cached {
            writer.member(
                "cachedResponse",
                object: { writer in
                    writer.member("status", cached.status.code)
                    writer.member("headers", array: { $0.headers(cached.headerFields) })
                })
        }
        if let answer { writer.member("challengeAnswer", object: { answer.write(&$0) }) }
    }

    private func writeRequest(_ writer: inout JSONWriter) {
        writer.member("url", request.url.withoutFragment().description)
        writer.member("method", request.method.rawValue)
        writer.member("headers", array: { $0.headers(request.headerFields) })
        if let body { writer.member("body", object: { $0.member("base64", Data(body).base64EncodedString()) }) }
        writer.member("properties", request[.byProtocol])
        if request.cachePolicy != .useProtocolCachePolicy {
            writer.member("cachePolicy", request.cachePolicy.rawValue)
        }
        writer.member("mainDocumentURL", request.mainDocumentURL?.description)
    }
}

extension Challenge.Disposition {
    /// Writes how a protocol has to go on, with the credential that it is given.
    fileprivate func write(_ writer: inout JSONWriter) {
        switch self {
        case .useCredential(let credential):
            writer.member("answer", "useCredential")
            if let token = credential.bearerToken {
                writer.member("bearerToken", token)
            } else {
                writer.member("user", credential.user)
                writer.member("password", credential.password)
            }
        case .rejectProtectionSpace: writer.member("answer", "rejectProtectionSpace")
        case .continueWithoutCredential: writer.member("answer", "continueWithoutCredential")
        case .performDefaultHandling, .cancelAuthenticationChallenge: writer.member("answer", "performDefaultHandling")
        }
    }
}
