/// A configuration as a session, its tasks and their exchanges hold it together: copying one costs a reference.
package final class SharedConfiguration: Sendable {
    package let value: SessionConfiguration
    /// The settings that connections depend on.
    let connections: ConnectionSettings

    /// - Parameter other: The one that the value was made from; what they have in common is shared.
    package init(_ value: SessionConfiguration, from other: SharedConfiguration? = nil) {
        self.value = value
        connections =
            if let other, other.connections.areIn(value) { other.connections } else { ConnectionSettings(value) }
    }
}

/// The settings of a configuration that must be equal for connections to be shared.
///
/// Looked at before each request, so that its hash is worked out once.
final class ConnectionSettings: Sendable, Hashable {
    private struct Values: Hashable {
        let targetPolicy: TargetPolicy
        let tls: TLSConfiguration
        let httpVersion: HTTPVersionPolicy
        let network: NetworkConfiguration
        let ftp: FTPConfiguration
        let owner: String?

        init(_ configuration: SessionConfiguration) {
            targetPolicy = configuration.targetPolicy
            tls = configuration.tls
            httpVersion = configuration.httpVersion
            network = configuration.network
            ftp = configuration.ftp
            owner = configuration.owner
        }
    }

    private let values: Values
    private let digest: Int

    var targetPolicy: TargetPolicy { values.targetPolicy }

    init(_ configuration: SessionConfiguration) {
        values = Values(configuration)
        digest = values.hashValue
    }

    /// Whether a configuration has these settings.
    func areIn(_ configuration: SessionConfiguration) -> Bool { values == Values(configuration) }

    static func == (left: ConnectionSettings, right: ConnectionSettings) -> Bool {
        left === right || left.digest == right.digest && left.values == right.values
    }

    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
