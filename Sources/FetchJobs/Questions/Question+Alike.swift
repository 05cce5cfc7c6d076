import FetchEngine
import HTTPTypes

extension Question {
    /// The conditions that this question meets, and all questions that differ from it only in values that change each
    /// time, such as a query or a count; nil where its facts cannot be written as conditions.
    ///
    /// Those of a server's trust name its server and its whole chain: an answer that is remembered by them holds for no
    /// other.
    package var alike: Conditions? {
        guard let all = conditionsAlike else { return nil }
        let conditions = Conditions(all)
        // Conditions that a reader refuses, such as a path that is too long, must not be written down.
        let read = try? Conditions(stored: JSONParser.parse(conditions.json.bytes), for: kind)
        return read == conditions ? conditions : nil
    }

    private var conditionsAlike: [Condition]? {
        switch subject {
        case .redirection(let redirection):
            [.from(.init(exactly: request.url)), .to(.init(exactly: redirection.proposed.url))]
        case .canonicalization(let change):
            [.from(.init(exactly: change.original)), .to(.init(exactly: change.proposed.url))]
        case .challenge(let challenge): challenge.conditionsAlike
        case .serverTrust(let trust):
            [
                .server(.init(host: trust.host, port: trust.port)), .chainSHA256([trust.chainFingerprint]),
                .trustError([.init(trust.verdict)]),
            ]
        case .response(let response, _): conditions(of: response)
        case .caching(let facts): conditions(of: facts.response)
        case .decoding(let type):
            Configuration.MIMETypePattern(type).map { [.url(.init(exactly: request.url)), .contentType([$0])] }
        case .destination: [.url(.init(exactly: request.url))]
        case .body, .delayedRequest:
            [.url(.init(exactly: request.url)), .method([request.method.rawValue])]
        }
    }

    private func conditions(of response: Response) -> [Condition] {
        let type = response.mimeType.flatMap { Configuration.MIMETypePattern($0) }
        return [.url(.init(exactly: request.url)), .status([.code(response.status.code)])]
            + (type.map { [.contentType([$0])] } ?? [])
    }
}

extension Question.ChallengeFacts {
    /// The protection space, and whether a credential was refused before: a delegate that was told once to give another
    /// one is not told so again.
    fileprivate var conditionsAlike: [Question.Condition] {
        var server = Question.URLPattern(host: space.host, port: space.port)
        server.scheme = space.scheme
        let failures =
            previousFailureCount == 0 ? Question.Bounds(minimum: 0, maximum: 0) : Question.Bounds(minimum: 1)
        return [
            .server(server), .authenticationMethod([space.method]), .isProxy(space.isProxy),
            .previousFailureCount(failures),
        ] + (space.realm.map { [.realm([$0])] } ?? [])
    }
}

extension Question.URLPattern {
    /// A URL but for its user, query and fragment.
    fileprivate init(exactly url: URLRecord) {
        self.init()
        scheme = url.scheme
        host = url.host.map { Host(exactly: $0) }
        port = url.effectivePort
        exactPath = url.path
    }

    fileprivate init(host name: String, port number: UInt16) {
        self.init()
        host = Host(exactly: name)
        port = number
    }
}

extension Question.URLPattern.Host {
    /// One host; the dot of its root is no part of a name that is compared.
    fileprivate init(exactly name: String) {
        self.init(name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name, includesSubdomains: false)
    }
}
