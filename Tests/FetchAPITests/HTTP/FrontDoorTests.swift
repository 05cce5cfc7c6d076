import FetchJobs
import FetchRuntime
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import FetchAPI

/// The clients that get a connection, and for how long, when others want them all.
@Suite(.timeLimit(.minutes(1))) struct FrontDoorTests {
    /// One end of a connection.
    private struct Client {
        let channel: any Channel
        let received: AsyncStream<String>

        init(port: Int) async throws {
            let (received, tell) = AsyncStream<String>.makeStream()
            self.received = received
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Ear(tell: tell))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        }

        func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

        func close() async throws { try await channel.close() }

        /// The next bytes, as they come; nil when the server has closed the connection.
        func next() async -> String? { await received.first { _ in true } }

        /// The response to a request that asks for the end of the connection.
        func answer(to request: String) async throws -> String {
            try await send(request + "Connection: close\r\n\r\n")
            return await received.reduce("", +)
        }
    }

    private final class Ear: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let tell: AsyncStream<String>.Continuation

        init(tell: AsyncStream<String>.Continuation) { self.tell = tell }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            tell.yield(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { tell.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private static let health = "GET /healthz HTTP/1.1\r\nHost: a\r\n"

    private static func list(_ key: APIKeyToken) -> String {
        "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key.revealed)\r\n"
    }

    /// A submission whose answer waits for the job's end, which never comes.
    private static func waiting(_ key: APIKeyToken) -> String {
        let body = #"{"request":{"url":"https://origin.example/"}}"#
        return "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key.revealed)\r\nPrefer: wait=60\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func connections(_ server: TestServer) -> Int? {
        server.metrics.text.firstMatch(of: /\nfetchd_http_connections (\d+)\n/).flatMap { Int($0.output.1) }
    }

    @Test func `connections that are idle give way to new ones, those of the same address first`() async throws {
        let server = try await TestServer()
        try await server.listen(configure: { $0.maximumConnections = 8 }) { port, _ async throws in
            var idle: [Client] = []
            for _ in 0..<40 { idle.append(try await Client(port: port)) }
            #expect(await idle[0].next() == nil, "the oldest was closed")
            #expect(try await Client(port: port).answer(to: Self.health).hasPrefix("HTTP/1.1 200 "))
            #expect(try await Client(port: port).answer(to: Self.list(server.token)).hasPrefix("HTTP/1.1 200 "))
            let count = try #require(Self.connections(server))
            #expect(count <= 4, "an address has half of the places")
        }
    }

    /// All requests that one tenant may have at once.
    private func wait(_ count: Int, of server: TestServer, at port: Int, _ key: APIKeyToken) async throws -> [Client] {
        var clients: [Client] = []
        for _ in 0..<count {
            let client = try await Client(port: port)
            try await client.send(Self.waiting(key))
            clients.append(client)
        }
        try await until { server.jobs.count == count }
        return clients
    }

    // Proves: SEC-45.
    @Test func `calls of one tenant leave places to others`() async throws {
        let server = try await TestServer()
        let (_, other) = try await server.keys.create(name: "other", tenant: "other")
        let configure = { @Sendable (configuration: inout Server.Configuration) in
            (configuration.maximumConnections, configuration.maximumConnectionsPerAddress) = (8, 8)
        }
        try await server.listen(configure: configure) { port, _ async throws in
            let waiting = try await wait(4, of: server, at: port, server.token)
            let refused = try await Client(port: port).answer(to: Self.list(server.token))
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.contains("tooManyCalls"))
            #expect(try await Client(port: port).answer(to: Self.list(other)).hasPrefix("HTTP/1.1 200 "))
            try await waiting[0].close()
            try await until {
                try await Client(port: port).answer(to: Self.list(server.token)).hasPrefix("HTTP/1.1 200 ")
            }
        }
    }

    @Test func `health is told when every place is taken, and then nothing else is`() async throws {
        let server = try await TestServer()
        let configure = { @Sendable (configuration: inout Server.Configuration) in
            (configuration.maximumConnections, configuration.maximumConnectionsPerAddress) = (4, 4)
            configuration.maximumCallsPerTenant = 4
        }
        try await server.listen(configure: configure) { port, _ async throws in
            let waiting = try await wait(4, of: server, at: port, server.token)
            for _ in 0..<100 { _ = try await Client(port: port) }
            #expect(try await Client(port: port).answer(to: Self.health).hasPrefix("HTTP/1.1 200 "))
            let refused = try await Client(port: port).answer(to: Self.list(server.token))
            #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("tooManyConnections"))
            #expect(refused.lowercased().contains("\r\nretry-after: 1\r\n"))
            try await waiting[0].close()
            try await until {
                try await Client(port: port).answer(to: Self.list(server.token)).hasPrefix("HTTP/1.1 200 ")
            }
        }
    }

    @Test func `a client that closes a call that waits gives its place back at once`() async throws {
        let server = try await TestServer()
        try await server.listen { port, _ async throws in
            for client in try await wait(70, of: server, at: port, server.token) { try await client.close() }
            try await until { Self.connections(server) == 0 }
        }
    }

    @Test func `a client that only stops sending is answered at once instead of waiting`() async throws {
        let server = try await TestServer()
        let answer = try await server.listen { port, _ async throws in
            let client = try await Client(port: port)
            try await client.channel.setOption(.allowRemoteHalfClosure, value: true).get()
            try await client.send(Self.waiting(server.token))
            try await until { server.jobs.count == 1 }
            try await client.channel.close(mode: .output)
            return await client.next()
        }
        #expect(answer?.hasPrefix("HTTP/1.1 202 ") == true)
    }

    @Test func `who takes no response does not keep the server from stopping`() async throws {
        let server = try await TestServer()
        let id = try await server.queueJob()
        let bytes = [UInt8](repeating: 0, count: 32 << 20)
        server.jobs.finish(
            id,
            body: StoredBody(
                location: .inline(bytes), bytes: Int64(bytes.count), digest: SHA256Digest(of: []), contentType: nil))
        try await server.listen(configure: { $0.drainTimeout = .milliseconds(100) }) { port, _ async throws in
            let client = try await Client(port: port)
            try await client.channel.setOption(.autoRead, value: false).get()
            try await client.send(
                "GET /v1/jobs/\(id)/body HTTP/1.1\r\nHost: a\r\nAuthorization: \(server.authorization)\r\n\r\n")
            try await until { server.jobs.looks > 0 }
        }
    }

    // Proves: SEC-44.
    @Test func `a later request that does not go on is given up as the first one is`() async throws {
        var limits = ConnectionGuard.Limits()
        limits.head = .milliseconds(200)
        let server = try await TestServer()
        try await server.listen(connection: limits) { port, _ async throws in
            let client = try await Client(port: port)
            try await client.send(Self.health + "\r\n")
            #expect(await client.next()?.hasPrefix("HTTP/1.1 200 ") == true)
            try await client.send("GET / HT")
            #expect(await client.next()?.hasPrefix("HTTP/1.1 408 ") == true)
            #expect(await client.next() == nil)
        }
    }

    @Test func `failures count for whom a trusted proxy names`() async throws {
        let server = try await TestServer()
        let proxies = try TrustedProxies(["127.0.0.1"])
        let configure = { @Sendable (configuration: inout Server.Configuration) in
            configuration.authenticationFailuresPerAddress = 1
            configuration.trustedProxies = proxies
        }
        try await server.listen(configure: configure) { port, _ async throws in
            for (address, status) in [("203.0.113.1", 401), ("203.0.113.1", 429), ("203.0.113.2", 401)] {
                let wrong = Self.list(APIKeyToken(id: APIKey.ID())) + "X-Forwarded-For: 198.51.100.1, \(address)\r\n"
                #expect(try await Client(port: port).answer(to: wrong).hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }
}
