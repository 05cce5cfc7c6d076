package import FetchEngine

/// A stored credential that a configuration names, and the server or proxy that it would be sent to.
package struct NamedCredential: Sendable {
    package let id: StoredCredential.ID
    /// Where it is named.
    private let pointer: String
    /// Nil when that is not known yet: a session's is for those of its jobs that it fits.
    private let party: ProtectionSpace.Party?

    /// The credentials that a configuration names.
    ///
    /// - Parameter url: The URL of the job; nil for a session.
    package static func all(in configuration: Configuration, for url: URLRecord? = nil) -> [NamedCredential] {
        // The party for a credential that an answer names is known when the question comes.
        let parties: [String: ProtectionSpace.Party?] = [
            "/configuration/authentication/credential": url.map { .init(server: $0) },
            "/configuration/proxy/credential": configuration.proxy.url.map { .init($0) },
        ]
        return configuration.credentials.compactMap { credential, pointer in
            guard case .stored(let id) = credential else { return nil }
            return NamedCredential(id: id, pointer: pointer, party: parties[pointer] ?? nil)
        }
    }

    /// Refuses a credential of another tenant, and one that would leave its protection space.
    package func check(_ stored: StoredCredential?) throws(InvalidInput) {
        guard let stored else { throw InvalidInput(pointer: pointer, message: "is not a credential of yours") }
        let own = ProtectionSpace.Party(stored.space)
        guard let party, party != own else { return }
        throw InvalidInput(
            pointer: pointer,
            message: "is stored for \(own) and would be sent to \(party): a stored credential does not leave its "
                + "protection space (credentialOutOfSpace)")
    }
}
