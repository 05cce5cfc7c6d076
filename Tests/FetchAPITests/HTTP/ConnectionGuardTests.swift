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
}
