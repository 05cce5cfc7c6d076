import Testing

@testable import FetchEngine

/// What configurations have in common that are made from one another.
@Suite(.timeLimit(.minutes(1))) struct SharedConfigurationTests {
    private let original = SharedConfiguration(SessionConfiguration())

    private func made(_ change: (inout SessionConfiguration) -> Void) -> SharedConfiguration {
        var value = original.value
        change(&value)
        return SharedConfiguration(value, from: original)
    }

    @Test func `what connections do not depend on leaves their settings shared`() {
        #expect(made { $0.timeoutIntervalForRequest = .seconds(1) }.connections === original.connections)
        #expect(SharedConfiguration(original.value).connections !== original.connections)
    }

    @Test(
        arguments: [
            { $0.targetPolicy = .publicOnly }, { $0.tls.minimumVersion = .tls13 }, { $0.httpVersion = .http2 },
            { $0.network.happyEyeballsDelay = .seconds(1) }, { $0.ftp.encryption = .required },
            { $0.owner = "another" },
        ] as [@Sendable (inout SessionConfiguration) -> Void])
    func `what connections depend on gives a configuration settings of its own`(
        _ change: @Sendable (inout SessionConfiguration) -> Void
    ) {
        let other = made(change)
        #expect(other.connections != original.connections)
        #expect(other.connections.targetPolicy == other.value.targetPolicy)
    }
}
