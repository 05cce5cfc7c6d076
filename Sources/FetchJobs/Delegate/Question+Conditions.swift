package import FetchEngine
package import HTTPTypes

extension Question {
    /// The conditions of a `when`: a question meets them when it meets every one.
    package struct Conditions: Sendable, Equatable {
        /// In the order in which they are judged, cheap ones first.
        package let all: [Condition]

        package init(_ conditions: [Condition] = []) {
            all = conditions.sorted { $0.name.order < $1.name.order }
        }

        package func areMet(by question: Question) -> Bool {
            var facts = Facts(question)
            return areMet(by: &facts)
        }

        /// The same for many rules of one question, whose facts are found once.
        func areMet(by facts: inout Facts) -> Bool {
            // A span, for to iterate over the array is to copy each condition.
            let conditions = all.span
            for index in conditions.indices {
                guard conditions[index].isMet(by: &facts) else { return false }
            }
            return true
        }
    }

    /// What conditions look at, found when the first one does.
    struct Facts {
        let question: Question
        lazy var status = question.response?.status.code
        lazy var url = Place(question.request.url)
        lazy var from = question.from.map { Place($0) }
        lazy var to = question.to.map { Place($0) }
        lazy var server = question.server
        lazy var mimeType = question.mimeType
        lazy var suggestedFilename = question.suggestedFilename
        lazy var publicKeyFingerprint = question.serverTrust?.publicKeyFingerprint
        lazy var chainFingerprint = question.serverTrust?.chainFingerprint

        init(_ question: Question) { self.question = question }
    }

    /// The parts of a URL, or of a server, that patterns look at.
    final class Place {
        let scheme: String
        /// Without the dot at its end.
        let host: String?
        let port: UInt16?
        /// Empty for a server.
        let path: String

        convenience init(_ url: URLRecord) {
            self.init(scheme: url.scheme, host: url.host, port: url.effectivePort, path: url.path)
        }

        init(scheme: String, host: String?, port: UInt16?, path: String = "") {
            self.scheme = scheme
            self.host = host.map { $0.utf8.last == UInt8(ascii: ".") ? String($0.dropLast()) : $0 }
            self.port = port
            self.path = path
        }
    }

    /// One condition; a fact that is not there meets none.
    package enum Condition: Sendable, Equatable {
        case url(URLPattern)
        case from(URLPattern)
        case to(URLPattern)
        /// Whether `to` is of another origin than `from`.
        case crossOrigin(Bool)
        /// Whether `from` is https and `to` is not.
        case downgrade(Bool)
        case method([String])
        case status([StatusPattern])
        case hop(Bounds)
        /// Each field has a value that fits.
        case header([FieldPattern])
        case contentType([Configuration.MIMETypePattern])
        case contentLength(Bounds)
        case authenticationMethod([ProtectionSpace.Method])
        case realm([String])
        case isProxy(Bool)
        case previousFailureCount(Bounds)
        case hasProposedCredential(Bool)
        case trustError([TrustError])
        /// The key of the server's certificate is one of these (RFC 7469 §2.4).
        case spki([Fingerprint])
        /// The server that sends a challenge or a certificate, which may be a proxy.
        case server(URLPattern)
        /// The whole chain is one of these: ``ServerTrust/chainFingerprint``.
        case chainSHA256([Fingerprint])
        case suggestedFilename(Glob)
        case labels([JobSpec.Label])
        case attempt(Bounds)

        /// The name of a condition in JSON.
        package enum Name: String, Sendable, CaseIterable {
            case attempt, isProxy, hasProposedCredential, previousFailureCount, authenticationMethod, hop, status
            case method, trustError, contentLength, downgrade, crossOrigin, realm, url, from, to, contentType, labels
            case header, suggestedFilename, server, spki, chainSHA256

            fileprivate var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
        }
    }

    /// From `min` to `max`, both included.
    package struct Bounds: Sendable, Equatable {
        package let minimum: Int64?
        package let maximum: Int64?

        package init(minimum: Int64? = nil, maximum: Int64? = nil) {
            self.minimum = minimum
            self.maximum = maximum
        }

        func contain(_ value: Int64) -> Bool { value >= minimum ?? .min && value <= maximum ?? .max }
    }

    /// Parts that a URL is to have.
    package struct URLPattern: Sendable, Equatable {
        /// A host, or one and all below it.
        package struct Host: Sendable, Equatable {
            /// As URLs spell it.
            package let name: String
            package let includesSubdomains: Bool
            private let suffix: String

            package init(_ name: String, includesSubdomains: Bool) {
                self.name = name
                self.includesSubdomains = includesSubdomains
                suffix = "." + name
            }

            func matches(_ host: String) -> Bool {
                host == name || includesSubdomains && host.hasSuffix(suffix)
            }
        }

        package var scheme: String?
        package var host: Host?
        package var port: UInt16?
        /// The prefix of the path, percent-encoded as in the URL.
        package var path: String?
        /// The whole path, percent-encoded as in the URL.
        package var exactPath: String?

        package init() {}

        func matches(_ place: Place) -> Bool {
            if let port, place.port != port { return false }
            if let scheme, place.scheme != scheme { return false }
            if let host {
                guard let name = place.host, host.matches(name) else { return false }
            }
            if let exactPath, !place.path.utf8.elementsEqual(exactPath.utf8) { return false }
            if let path { return place.path.utf8.starts(with: path.utf8) }
            return true
        }
    }

    /// A status, or all of a class.
    package enum StatusPattern: Sendable, Equatable {
        case code(Int)
        /// Those from 100 times this; `5xx` is 5.
        case family(Int)

        func matches(_ status: Int) -> Bool {
            switch self {
            case .code(let code): status == code
            case .family(let family): status / 100 == family
            }
        }
    }

    /// A value that a header field is to have.
    package struct FieldPattern: Sendable, Equatable {
        package let name: HTTPField.Name
        package let value: Glob

        package init(_ name: HTTPField.Name, _ value: Glob) {
            self.name = name
            self.value = value
        }
    }

    /// The result of verifying a chain: the name of its error, or `none`.
    package enum TrustError: String, Sendable, CaseIterable {
        case none
        case serverCertificateHasBadDate
        case serverCertificateNotYetValid
        case serverCertificateHasUnknownRoot
        case serverCertificateHasNoName
        case serverCertificateUntrusted

        package init(_ verdict: ServerTrust.Verdict) {
            switch verdict {
            case .trusted: self = .none
            case .rejected(let code, _): self = Self(rawValue: code.name) ?? .serverCertificateUntrusted
            }
        }

        /// The verdict that this is the error of.
        package var verdict: ServerTrust.Verdict {
            let code: LoadError.Code
            switch self {
            case .none: return .trusted
            case .serverCertificateHasBadDate: code = .serverCertificateHasBadDate
            case .serverCertificateNotYetValid: code = .serverCertificateNotYetValid
            case .serverCertificateHasUnknownRoot: code = .serverCertificateHasUnknownRoot
            case .serverCertificateHasNoName: code = .serverCertificateHasNoName
            case .serverCertificateUntrusted: code = .serverCertificateUntrusted
            }
            return .rejected(code, reason: "")
        }
    }
}

extension Question.Condition {
    package var name: Name {
        switch self {
        case .url: .url
        case .from: .from
        case .to: .to
        case .crossOrigin: .crossOrigin
        case .downgrade: .downgrade
        case .method: .method
        case .status: .status
        case .hop: .hop
        case .header: .header
        case .contentType: .contentType
        case .contentLength: .contentLength
        case .authenticationMethod: .authenticationMethod
        case .realm: .realm
        case .isProxy: .isProxy
        case .previousFailureCount: .previousFailureCount
        case .hasProposedCredential: .hasProposedCredential
        case .trustError: .trustError
        case .spki: .spki
        case .server: .server
        case .chainSHA256: .chainSHA256
        case .suggestedFilename: .suggestedFilename
        case .labels: .labels
        case .attempt: .attempt
        }
    }

    func isMet(by facts: inout Question.Facts) -> Bool {
        switch self {
        case .url(let pattern): pattern.matches(facts.url)
        case .from(let pattern): if let from = facts.from { pattern.matches(from) } else { false }
        case .to(let pattern): if let to = facts.to { pattern.matches(to) } else { false }
        case .crossOrigin(let wanted): facts.question.isCrossOrigin == wanted
        case .downgrade(let wanted): facts.question.isDowngrade == wanted
        case .method(let methods): methods.contains(facts.question.request.method.rawValue)
        case .status(let patterns):
            if let status = facts.status { patterns.contains { $0.matches(status) } } else { false }
        case .hop(let bounds): facts.question.hop.map { bounds.contain(Int64($0)) } ?? false
        case .header(let patterns):
            facts.question.response.map { response in
                patterns.allSatisfy { $0.matches(response.headerFields) }
            } ?? false
        case .contentType(let patterns):
            if let type = facts.mimeType { patterns.contains { $0.matches(type) } } else { false }
        case .contentLength(let bounds): facts.question.contentLength.map(bounds.contain) ?? false
        case .authenticationMethod(let methods):
            facts.question.challenge.map { methods.contains($0.space.method) } ?? false
        case .realm(let realms): facts.question.challenge?.space.realm.map(realms.contains) ?? false
        case .isProxy(let wanted): facts.question.challenge?.space.isProxy == wanted
        case .previousFailureCount(let bounds):
            facts.question.challenge.map { bounds.contain(Int64($0.previousFailureCount)) } ?? false
        case .hasProposedCredential(let wanted):
            facts.question.challenge.map { ($0.proposedUser != nil) == wanted } ?? false
        case .trustError(let errors):
            facts.question.serverTrust.map { errors.contains(.init($0.verdict)) } ?? false
        case .spki(let pins): facts.publicKeyFingerprint.map(pins.contains) ?? false
        case .server(let pattern): if let server = facts.server { pattern.matches(server) } else { false }
        case .chainSHA256(let chains): facts.chainFingerprint.map(chains.contains) ?? false
        case .suggestedFilename(let glob): if let name = facts.suggestedFilename { glob.matches(name) } else { false }
        case .labels(let labels): labels.allSatisfy(facts.question.asker.labels.contains)
        case .attempt(let bounds): bounds.contain(Int64(facts.question.asker.attempt))
        }
    }
}

extension Question {
    /// The server or proxy that asks for a credential or shows a certificate.
    fileprivate var server: Place? {
        switch subject {
        case .challenge(let challenge):
            Place(scheme: challenge.space.scheme, host: challenge.space.host, port: challenge.space.port)
        case .serverTrust(let trust): Place(scheme: "https", host: trust.host, port: trust.port)
        default: nil
        }
    }

    fileprivate var isCrossOrigin: Bool? {
        guard let from, let to else { return nil }
        return from.origin != to.origin
    }

    fileprivate var isDowngrade: Bool? {
        guard let from, let to else { return nil }
        return from.scheme == "https" && to.scheme != "https"
    }
}

extension Question.FieldPattern {
    fileprivate func matches(_ fields: HTTPFields) -> Bool { fields[fields: name].contains { value.matches($0.value) } }
}

extension Question.Kind {
    /// The conditions that can apply.
    package var conditions: Set<Question.Condition.Name> {
        let always: Set<Question.Condition.Name> = [.url, .method, .labels, .attempt]
        return switch self {
        case .willPerformHTTPRedirection:
            always.union([.from, .to, .crossOrigin, .downgrade, .status, .hop, .header])
        case .didCanonicalize: always.union([.from, .to, .crossOrigin])
        case .didReceiveChallenge:
            always.union([
                .status, .header, .authenticationMethod, .realm, .isProxy, .previousFailureCount,
                .hasProposedCredential, .server,
            ])
        case .didReceiveServerTrust: always.union([.trustError, .spki, .server, .chainSHA256])
        case .didReceiveResponse:
            always.union([.status, .header, .contentType, .contentLength, .suggestedFilename])
        case .shouldDecodeSourceData: always.union([.contentType])
        case .decideDestination: always.union([.suggestedFilename, .contentLength])
        case .needNewBodyStream, .willBeginDelayedRequest: always
        case .willCacheResponse: always.union([.status, .header, .contentType, .contentLength])
        }
    }
}
