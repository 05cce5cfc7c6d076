import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The way out and the addresses of hosts.
@Suite struct NetworkTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private static func task(
        _ url: String, _ change: (inout SessionConfiguration) -> Void
    ) throws -> DataTask {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration).dataTask(with: Request(url: try URLRecord(url)))
    }

    // All of 127.0.0.0/8 is this machine's.
    // Proves: SES-14.
    @Test func `connections leave from the address that was named`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task(origin.url()) { $0.network.egress = .address(IPAddress("127.0.0.2")!) }
        _ = try await task.response(bufferingUpTo: 10)
        #expect(task.metrics.transactions.first?.localAddress == "127.0.0.2")
        let elsewhere = try Self.task(origin.url()) { $0.network.egress = .address(IPAddress("192.0.2.1")!) }
        await expect(.cannotConnectToHost) { try await elsewhere.response(bufferingUpTo: 10) }
    }

    // Proves: SES-14.
    @Test func `connections leave by the interface that was named`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task(origin.url()) { $0.network.egress = .interface("lo") }
        #expect(try await task.response(bufferingUpTo: 10).status.code == 200)
        let missing = try Self.task(origin.url()) { $0.network.egress = .interface("nosuch0") }
        await expect(.cannotConnectToHost) { try await missing.response(bufferingUpTo: 10) }
    }

    // Proves: BEY-17.
    @Test func `a pinned address is connected to without a look-up`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task("http://no-such-host.invalid:\(origin.port)/") {
            $0.network.pinnedAddresses = [
                .init(host: "no-such-host.invalid", port: origin.port, addresses: [IPAddress("127.0.0.1")!])
            ]
        }
        #expect(try await task.response(bufferingUpTo: 10).status.code == 200)
        #expect(origin.received().contains("Host: no-such-host.invalid:\(origin.port)"))
    }

    // Nobody listens at the first.
    // Proves: BEY-17.
    @Test func `the next of several addresses is tried when one does not answer`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task("http://two.example:\(origin.port)/") {
            $0.network.pinnedAddresses = [
                .init(
                    host: "two.example", port: origin.port,
                    addresses: ["127.0.0.9", "127.0.0.1"].map { IPAddress($0)! }
                )
            ]
        }
        #expect(try await task.response(bufferingUpTo: 10).status.code == 200)
        #expect(task.metrics.transactions.first?.remoteAddress == "127.0.0.1")
    }

    // Proves: SES-14.
    @Test func `an address of the other family is not connected to`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task(origin.url()) { $0.network.addressFamily = .ipv6 }
        await expect(.cannotConnectToHost) { try await task.response(bufferingUpTo: 10) }
        #expect(origin.connections.isEmpty)
    }

    // A pinned address is judged like one that is looked up.
    // Proves: SEC-11.
    @Test func `a pinned address is judged by the target policy`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = try Self.task("http://public.example:\(origin.port)/") {
            $0.targetPolicy = .publicOnly
            $0.network.pinnedAddresses = [
                .init(host: "public.example", port: origin.port, addresses: [IPAddress("127.0.0.1")!])
            ]
        }
        await expect(.addressForbidden) { try await task.response(bufferingUpTo: 10) }
        #expect(origin.connections.isEmpty)
    }
}
