// The secrets of a job are sealed apart from its spec, which says "sealed" or "<redacted>" in their places.

extension Configuration {
    private typealias Place = (group: String, path: any WritableKeyPath<Configuration, JobCredential?> & Sendable)

    /// Where a job may bring a credential, by the name of the group.
    private static let credentialPlaces: [Place] = [
        ("authentication", \.authentication.credential), ("proxy", \.proxy.credential),
    ]

    /// The credentials that are named, and where.
    package var credentials: [(credential: JobCredential, pointer: String)] {
        guard !isEmpty else { return [] }
        let named = Self.credentialPlaces.compactMap { place in
            self[keyPath: place.path].map { ($0, "/configuration/\(place.group)/credential") }
        }
        return named + answers.compactMap { answer, pointer in answer.credential.map { ($0, "\(pointer)/credential") } }
    }

    /// The secrets of the credentials that came with the job, by group.
    fileprivate var secrets: [(name: String, bytes: [UInt8])] {
        guard !isEmpty else { return [] }
        return Self.credentialPlaces.compactMap { place in
            self[keyPath: place.path]?.secretBytes.map { (place.group, $0) }
        }
    }

    fileprivate mutating func restore(_ sealed: [String: JSONValue]) throws {
        for place in Self.credentialPlaces {
            guard let secret = sealed[place.group] else { continue }
            self[keyPath: place.path] = try JobCredential(secret: secret)
        }
    }
}

extension JobSpec {
    private static let requestName = "request"

    /// The secret parts of the job in the form that is sealed; nil when there are none, or they are unknown.
    package var secretBytes: [UInt8]? {
        var secrets = configuration.secrets
        if let own = request.secretBytes { secrets.append((Self.requestName, own)) }
        for callback in callbacks { if let own = callback.job.secretBytes { secrets.append((callback.name, own)) } }
        guard !secrets.isEmpty else { return nil }
        return JSONWriter.object { writer in
            for (name, secret) in secrets { writer.member(name, RawJSON(secret)) }
        }
    }

    /// Puts the sealed secrets back in their places.
    package mutating func restore(secretBytes: [UInt8]) throws {
        let members = JSONReader(try JSONParser.parse(secretBytes), check: InputCheck()).dictionary() ?? []
        let sealed = Dictionary(members.map { ($0.name, $0.reader.value) }, uniquingKeysWith: { first, _ in first })
        try configuration.restore(sealed)
        if let own = sealed[Self.requestName] { try request.restore(secret: own) }
        for index in callbacks.indices {
            guard let own = sealed[callbacks[index].name] else { continue }
            try callbacks[index].job.restore(secretBytes: Array(own.json.utf8))
        }
    }
}
