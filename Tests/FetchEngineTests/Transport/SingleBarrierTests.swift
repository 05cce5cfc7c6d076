import CCurl
import EventLoop
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// The three barriers before an address, each with the two others taken away.
@Suite(.timeLimit(.minutes(1))) struct SingleBarrierTests {
    /// The barriers that libcurl asks.
    enum Barrier: CaseIterable { case socket, peer }

    private struct End: Sendable {
        let status: Int?
        let error: LoadError?
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private static func configuration(_ rules: [String]) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.targetPolicy = .publicOnly
        // Nobody listens at the other address that names below localhost have.
        configuration.network.addressFamily = .ipv4
        for rule in rules { try configuration.targetPolicy.allow(rule) }
        return configuration
    }

    /// Lets a transfer run that nobody has judged, with some barriers of its own.
    private static func end(
        of url: String, at addresses: VettedAddresses = .any, _ configuration: SessionConfiguration,
        behind barriers: Set<Barrier>, on loop: TransferLoop
    ) async throws -> End {
        let request = Request(url: try URLRecord(url))
        return await loop.run { loop in
            let shared = SharedConfiguration(configuration)
            let key = Partition.Key(
                session: 1, settings: shared.connections, terms: ConnectionTerms(), credential: nil)
            let partition = loop.partition(for: key)
            let transfer = Transfer(
                request: request, configuration: shared, state: LoadState(loop: loop.eventLoop, priority: 0.5),
                terms: ConnectionTerms(), partition: partition, source: nil)
            transfer.addresses = addresses
            partition.enqueue(transfer)
            // libcurl has the handle, and does nothing with it before the loop turns.
            guard let easy = transfer.easy else { return End(status: nil, error: transfer.failure) }
            if !barriers.contains(.socket) {
                ccurl_set_open_socket_function(easy, nil)
                ccurl_set_close_socket_function(easy, nil)
            }
            if !barriers.contains(.peer) { ccurl_set_prerequest_function(easy, nil) }
            await transfer.arrival(.head(bufferingUpTo: 1000), isolation: loop)
            return End(status: transfer.response?.status.code, error: transfer.outcome ?? nil)
        }
    }

    // Proves: SEC-11.
    @Test func `the judgement of a name's addresses leaves nothing to the barriers of libcurl`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let loop = TransferLoop()
        for (rules, isAllowed) in [(["localhost"], false), (["localhost", "127.0.0.1:\(origin.port)"], true)] {
            let session = Session(configuration: try Self.configuration(rules), transferLoop: loop)
            let task = session.dataTask(with: Request(url: try URLRecord("http://localhost:\(origin.port)/")))
            let error = await failure { try await task.data() }
            #expect(error?.code == (isAllowed ? nil : .addressForbidden))
            let isOpen = await loop.run { loop in
                let settings = session.shared.connections
                return loop.partition(
                    for: Partition.Key(
                        session: session.state.identifier, settings: settings, terms: ConnectionTerms(), credential: nil
                    )
                ).isOpen
            }
            #expect(isOpen == isAllowed)
            #expect(origin.connections.isEmpty != isAllowed)
        }
    }

    // libcurl answers for names below localhost by itself.
    // Proves: SEC-11.
    @Test(arguments: Barrier.allCases)
    func `one barrier refuses an address that nobody has judged, or that was not found`(
        _ barrier: Barrier
    ) async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let opened = "127.0.0.1:\(origin.port)"
        let other = VettedAddresses.only([IPAddress("127.0.0.2")!], host: "other.example", port: origin.port)
        let own = VettedAddresses.only([IPAddress("127.0.0.1")!], host: "a.localhost", port: origin.port)
        let cases: [(host: String, rules: [String], addresses: VettedAddresses, isAllowed: Bool)] = [
            ("127.0.0.1", [], .any, false), ("127.0.0.1", [opened], .any, true),
            ("a.localhost", ["*.localhost"], .any, false), ("a.localhost", ["*.localhost", opened], .any, true),
            ("a.localhost", ["*.localhost", opened], other, false),
            ("a.localhost", ["*.localhost", opened], own, true),
        ]
        for (number, one) in cases.enumerated() {
            let sent = origin.count(of: "GET /")
            let connected = origin.connections.count
            let end = try await Self.end(
                of: "http://\(one.host):\(origin.port)/", at: one.addresses, try Self.configuration(one.rules),
                behind: [barrier], on: TransferLoop())
            #expect(end.status == (one.isAllowed ? 200 : nil), "\(number)")
            #expect(end.error?.code == (one.isAllowed ? nil : .addressForbidden), "\(number): \(end)")
            // What the last barrier refuses has been dialled, and nothing was said.
            if barrier == .socket { #expect(origin.connections.count == connected + (one.isAllowed ? 1 : 0)) }
            #expect(origin.count(of: "GET /") == sent + (one.isAllowed ? 1 : 0), "\(number)")
        }
    }

    // With no barrier at all there is a connection that must not be.
    // Proves: SEC-11.
    @Test func `the last barrier refuses a kept connection`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let (loop, configuration) = (TransferLoop(), try Self.configuration([]))
        let first = try await Self.end(of: origin.url("/1"), configuration, behind: [], on: loop)
        #expect(first.status == 200 && first.error == nil)
        let second = try await Self.end(of: origin.url("/2"), configuration, behind: [.peer], on: loop)
        #expect(second.status == nil && second.error?.code == .addressForbidden, "\(second)")
        #expect(origin.connections.count == 1 && origin.count(of: "GET /") == 1)
    }
}
