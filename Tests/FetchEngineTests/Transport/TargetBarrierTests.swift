import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Where a load meets the target guard (R29).
@Suite struct TargetBarrierTests {
    private static func session(_ rules: [String]) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.targetPolicy = .publicOnly
        for rule in rules { try configuration.targetPolicy.allow(rule) }
        return Session(configuration: configuration)
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: SEC-12.
    @Test func `an address that is not public is refused before a connection is opened`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        await expect(.addressForbidden) {
            try await Self.session([]).data(for: Request(url: try URLRecord(origin.url())))
        }
        #expect(origin.connections.isEmpty)
    }

    // The name is let through, so only the address its look-up gave is left to judge.
    // Proves: RED-12, SEC-10, SEC-12.
    @Test func `a name that resolves to a forbidden address opens no connection`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        await expect(.addressForbidden) {
            try await Self.session(["localhost"])
                .data(for: Request(url: try URLRecord("http://localhost:\(origin.port)/")))
        }
        #expect(origin.connections.isEmpty)
    }

    // Proves: RED-12, SEC-30.
    @Test func `a redirect to a forbidden target is not followed`() async throws {
        let target = try WireOrigin(playing: Self.ok)
        let origin = try WireOrigin(
            playing:
                "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
        var configuration = SessionConfiguration()
        configuration.targetPolicy = .publicOnly
        configuration.targetPolicy.opensLoopback = true
        let session = Session(configuration: configuration)
        await expect(.redirectTargetForbidden) {
            try await session.data(for: Request(url: try URLRecord(origin.url())))
        }
        #expect(target.connections.isEmpty)
    }

    // Proves: SEC-30.
    @Test func `a redirect to a name with a forbidden address is not among those that were followed`() async throws {
        let target = try WireOrigin(playing: Self.ok)
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 Found\r\nLocation: http://localhost:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
        let task = try Self.session(["localhost", "127.0.0.1:\(origin.port)"])
            .dataTask(with: Request(url: try URLRecord(origin.url())))
        let error = await failure { try await task.data() }
        #expect(error?.code == .redirectTargetForbidden && error?.message.contains("(addressForbidden)") == true)
        #expect(error?.failingURL?.host == "localhost")
        #expect(task.redirects.isEmpty && task.metrics.redirectCount == 0)
        #expect(target.connections.isEmpty)
    }
}
