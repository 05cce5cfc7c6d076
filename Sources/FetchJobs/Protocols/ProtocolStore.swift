/// The store of the protocols that operators have registered; all nodes know a change within moments.
package protocol ProtocolStore: Sendable {
    /// All of them, in the order in which they are asked.
    func protocols() async throws(StoreError) -> [RegisteredProtocol]

    /// Registers a protocol, or changes the one of its name, which keeps its secrets and its place among equals.
    ///
    /// - Returns: It as it is now, and whether the name is new.
    func register(_ new: RegisteredProtocol) async throws(StoreError) -> (protocol: RegisteredProtocol, isNew: Bool)

    /// Gives a protocol a new secret; nil when there is none of this name.
    func rotate(_ rotation: SecretRotation, ofProtocol name: String) async throws(StoreError) -> RegisteredProtocol?

    /// - Returns: false when there is none of this name.
    func remove(_ name: String) async throws(StoreError) -> Bool
}

extension ProtocolStore {
    /// The protocol of a name.
    package func `protocol`(named name: String) async throws(StoreError) -> RegisteredProtocol? {
        try await protocols().first { $0.name == name }
    }
}
