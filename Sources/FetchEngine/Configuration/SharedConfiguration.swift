/// A configuration as a session, its tasks and their exchanges hold it together: copying one costs a reference.
package final class SharedConfiguration: Sendable {
    package let value: SessionConfiguration
    /// The settings that connections depend on.
    let connections: ConnectionSettings

    package init(_ value: SessionConfiguration) {
        self.value = value
        connections = ConnectionSettings(value)
    }
}

/// The settings of a configuration that must be equal for connections to be shared.
///
/// Looked at before each request, so that its hash is worked out once.
final class ConnectionSettings: Sendable, Hashable {
    let targetPolicy: TargetPolicy
    private let tls: TLSConfiguration
    private let httpVersion: HTTPVersionPolicy
    private let network: NetworkConfiguration
    private let ftp: FTPConfiguration
    private let digest: Int

    init(_ configuration: SessionConfiguration) {
        targetPolicy = configuration.targetPolicy
        tls = configuration.tls
        httpVersion = configuration.httpVersion
        network = configuration.network
        ftp = configuration.ftp
        var hasher = Hasher()
        hasher.combine(targetPolicy)
        hasher.combine(tls)
        hasher.combine(httpVersion)
        hasher.combine(network)
        hasher.combine(ftp)
        digest = hasher.finalize()
    }

    static func == (left: ConnectionSettings, right: ConnectionSettings) -> Bool {
        left === right
            || left.digest == right.digest && left.targetPolicy == right.targetPolicy && left.tls == right.tls
                && left.httpVersion == right.httpVersion && left.network == right.network && left.ftp == right.ftp
    }

    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
