// The credentials that come with a job are sealed apart from its spec, which says "sealed" in their places.

extension Configuration {
    private typealias Place = (group: String, path: any WritableKeyPath<Configuration, JobCredential?> & Sendable)

    /// Where a job may bring a credential, by the name of the group.
    private static let credentialPlaces: [Place] = [
        ("authentication", \.authentication.credential), ("proxy", \.proxy.credential),
    ]

    /// The credentials that are named, and where.
    package var credentials: [(credential: JobCredential, pointer: String)] {
        Self.credentialPlaces.compactMap { place in
            self[keyPath: place.path].map { ($0, "/configuration/\(place.group)/credential") }
        }
    }

    /// The secrets of the credentials that came with the job in the form that is sealed; nil when there is none.
    package var secretBytes: [UInt8]? {
        let secrets = Self.credentialPlaces.compactMap { place in
            self[keyPath: place.path]?.secretBytes.map { (place.group, $0) }
        }
        guard !secrets.isEmpty else { return nil }
        return JSONWriter.object { writer in
            for (group, secret) in secrets { writer.member(group, RawJSON(secret)) }
        }
    }

    /// Puts what was sealed back in its places.
    package mutating func restore(secretBytes: [UInt8]) throws {
        let json = try JSONParser.parse(secretBytes)
        let check = InputCheck()
        let sealed = JSONReader(json, check: check).dictionary() ?? []
        for place in Self.credentialPlaces {
            guard let secret = sealed.first(where: { $0.name == place.group }) else { continue }
            self[keyPath: place.path] = try JobCredential(secret: secret.reader.value)
        }
    }
}
