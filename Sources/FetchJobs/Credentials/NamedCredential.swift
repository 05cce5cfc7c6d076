package import FetchEngine

/// A stored credential that a configuration names, and whom it would be sent to.
package struct NamedCredential: Sendable {
    package let id: StoredCredential.ID
    /// Where it is named.
    private let pointer: String
    /// Nil when that is not known yet: a session's is for those of its jobs that it fits.
    private let party: ProtectionSpace.Party?

    /// Those of a configuration.
    ///
    /// - Parameter url: That of the job; nil for a session.
    package static func all(in configuration: Configuration, for url: URLRecord? = nil) -> [NamedCredential] {
        let places: [(JobCredential?, String, ProtectionSpace.Party?)] = [
            (configuration.authentication.credential, "authentication", url.map { .init(server: $0) }),
            (configuration.proxy.credential, "proxy", configuration.proxy.url.map { .init($0) }),
        ]
        return places.compactMap { credential, group, party in
            guard case .stored(let id) = credential else { return nil }
            return NamedCredential(id: id, pointer: "/configuration/\(group)/credential", party: party)
        }
    }

    /// Refuses one that is none of the tenant's, or that would leave its protection space.
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
