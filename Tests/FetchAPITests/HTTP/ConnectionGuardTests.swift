import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import FetchAPI

/// The silences that end a connection, on a clock that the test moves.
@Suite struct ConnectionGuardTests {
    /// A connection in the middle of a body.
    private func connection() throws -> (EmbeddedChannel, EmbeddedEventLoop) {
        let loop = EmbeddedEventLoop()
        let channel = EmbeddedChannel(handler: ConnectionGuard(limits: ConnectionGuard.Limits()), loop: loop)
        let head = HTTPRequest(method: .post, scheme: nil, authority: "a", path: "/v1/jobs")
        channel.pipeline.fireChannelRead(HTTPRequestPart.head(head))
        channel.pipeline.fireChannelRead(HTTPRequestPart.body(ByteBuffer(string: "{")))
        channel.pipeline.fireChannelReadComplete()
        return (channel, loop)
    }

    // Proves: SEC-44.
    @Test func `time in which we ask for nothing does not count against the client`() throws {
        let (channel, loop) = try connection()
        loop.advanceTime(by: .seconds(95))
        try channel.throwIfErrorCaught()
        channel.read()
        loop.advanceTime(by: .seconds(29))
        try channel.throwIfErrorCaught()
    }

    // Proves: SEC-44.
    @Test func `a client that sends nothing when asked is given up`() throws {
        let (channel, loop) = try connection()
        channel.read()
        loop.advanceTime(by: .seconds(31))
        #expect(throws: (any Error).self) { try channel.throwIfErrorCaught() }
    }

    // Proves: SEC-44.
    @Test func `asking again gives no more time`() throws {
        let (channel, loop) = try connection()
        channel.read()
        loop.advanceTime(by: .seconds(20))
        channel.read()
        loop.advanceTime(by: .seconds(11))
        #expect(throws: (any Error).self) { try channel.throwIfErrorCaught() }
    }

    // Proves: SEC-28.
    @Test(arguments: [(30, true), (31, false), (4096, false)])
    func `a request with more marks in a row than a text has is refused`(_ count: Int, _ isTaken: Bool) throws {
        let marks = String(repeating: "\u{315}", count: count)
        for (path, fields) in [("/", HTTPFields([.init(name: .authorization, value: marks)])), ("/\(marks)", [:])] {
            let guardian = ConnectionGuard(limits: ConnectionGuard.Limits())
            let channel = EmbeddedChannel(handler: guardian, loop: EmbeddedEventLoop())
            let head = HTTPRequest(method: .get, scheme: nil, authority: "a", path: path, headerFields: fields)
            channel.pipeline.fireChannelRead(HTTPRequestPart.head(head))
            if isTaken {
                try channel.throwIfErrorCaught()
            } else {
                #expect(throws: (any Error).self) { try channel.throwIfErrorCaught() }
            }
        }
    }

    /// A connection with TLS.
    private func secured() throws -> (EmbeddedChannel, HandshakeGuard, OpenConnections) {
        let connections = OpenConnections()
        let limits = HandshakeGuard.Limits(handshake: .seconds(10), idle: .seconds(62), linger: .seconds(2))
        let handshake = HandshakeGuard(limits: limits, connections: connections)
        let channel = EmbeddedChannel(handler: handshake, loop: EmbeddedEventLoop())
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        return (channel, handshake, connections)
    }

    // Proves: SEC-44.
    @Test func `a connection that does not end its handshake is closed, and counts until then`() throws {
        let (channel, _, connections) = try secured()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive && connections.count == 1)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive && connections.count == 0)
    }

    @Test(arguments: [false, true])
    func `a client that stays when it is idle, or its server stops, is left`(stops: Bool) throws {
        let (channel, handshake, connections) = try secured()
        handshake.isDone()
        let connection = try #require(handshake.opened?.connection)
        connection.begin()
        if stops { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        channel.embeddedEventLoop.advanceTime(by: .minutes(10))
        #expect(channel.isActive, "a request is on it")
        connections.end(connection)
        channel.embeddedEventLoop.advanceTime(by: stops ? .seconds(5) : .minutes(3))
        #expect(!channel.isActive && connections.count == 0)
    }

    @Test func `on a stream of HTTP/2 a refusal is a problem, and ends the stream alone`() throws {
        let loop = EmbeddedEventLoop()
        let guarding = ConnectionGuard(
            limits: ConnectionGuard.Limits(), connections: OpenConnections(), isStream: true)
        let channel = EmbeddedChannel(handler: guarding, loop: loop)
        channel.pipeline.fireChannelRead(
            HTTPRequestPart.head(HTTPRequest(method: .get, scheme: nil, authority: "a b", path: "/v1/jobs")))
        guard case .head(let head)? = try channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("no answer")
            return
        }
        #expect(head.status == .badRequest && head.headerFields[.connection] == nil)
        #expect(!channel.isActive)
    }

    @Test func `an answer on a stream of HTTP/2 has no field of the connection`() throws {
        let guarding = ConnectionGuard(
            limits: ConnectionGuard.Limits(), connections: OpenConnections(), isStream: true)
        let channel = EmbeddedChannel(handler: guarding, loop: EmbeddedEventLoop())
        var head = HTTPResponse(status: .ok)
        head.headerFields = [.connection: "close", .requestID: "x"]
        try channel.writeOutbound(HTTPResponsePart.head(head))
        guard case .head(let sent)? = try channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("no answer")
            return
        }
        #expect(sent.headerFields[.connection] == nil && sent.headerFields[.requestID] == "x")
    }
}
