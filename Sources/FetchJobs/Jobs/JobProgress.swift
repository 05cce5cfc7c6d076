/// How far the transfer of a job is, at the moment it was asked.
///
/// Two are equal when nothing has moved between them, whatever time has passed.
package struct JobProgress: Sendable, Equatable {
    /// Of the request's body, since it was begun to be sent the last time.
    package var bytesSent: Int64
    /// How often that was begun in this attempt; nil before its first byte was sent.
    package var sending: Int?
    /// Nil when nobody knows.
    package var bytesExpectedToSend: Int64?
    /// Of the response's body; a download counts the partial file of an earlier attempt, too.
    package var bytesReceived: Int64
    /// Nil when nobody knows.
    package var bytesExpectedToReceive: Int64?
    /// Bytes sent and received since the load began, in its time.
    package var bytesPerSecond: Double = 0
    /// What the rest takes at that speed; nil when nobody knows.
    package var timeRemaining: Duration?
    /// The number of the part that comes, of a body whose parts replace one another; what is received is the part's.
    package var part: Int?
    /// Of a download whose response has come.
    package var resumable: Resumable?

    package init(
        bytesSent: Int64,
        bytesExpectedToSend: Int64?,
        bytesReceived: Int64,
        bytesExpectedToReceive: Int64?
    ) {
        self.bytesSent = bytesSent
        self.bytesExpectedToSend = bytesExpectedToSend
        self.bytesReceived = bytesReceived
        self.bytesExpectedToReceive = bytesExpectedToReceive
    }

    /// The received part of the body, from 0 to 1; nil while its length is unknown.
    package var fraction: Double? {
        bytesExpectedToReceive.map { $0 == 0 ? 1 : min(1, Double(bytesReceived) / Double($0)) }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.bytesSent == right.bytesSent && left.sending == right.sending
            && left.bytesExpectedToSend == right.bytesExpectedToSend
            && left.bytesReceived == right.bytesReceived && left.bytesExpectedToReceive == right.bytesExpectedToReceive
            && left.part == right.part && left.resumable == right.resumable
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("bytesSent", bytesSent)
        writer.member("bytesExpectedToSend", bytesExpectedToSend)
        writer.member("sending", sending)
        writer.member("bytesReceived", bytesReceived)
        writer.member("bytesExpectedToReceive", bytesExpectedToReceive)
        writer.member("fraction", fraction)
        writer.member("bytesPerSecond", Int64(bytesPerSecond.rounded()))
        writer.member("etaSeconds", timeRemaining.map { ($0 / .milliseconds(1)).rounded() / 1000 })
    }
}
