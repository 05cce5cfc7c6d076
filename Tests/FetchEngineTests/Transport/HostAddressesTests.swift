import Testing

@testable import FetchEngine

@Suite struct HostAddressesTests {
    // Proves: SEC-42, SEC-45.
    @Test func `an owner looks names up as one caller in all sessions, and one of its own as itself`() {
        var configuration = SessionConfiguration()
        #expect(
            HostAddresses.owner(of: configuration, in: 1) != HostAddresses.owner(of: configuration, in: 2))
        configuration.owner = "1"
        let owners = [1, 2].map { HostAddresses.owner(of: configuration, in: $0) }
        #expect(owners == ["1", "1"])
        #expect(HostAddresses.owner(of: SessionConfiguration(), in: 1) != "1")
    }
}
