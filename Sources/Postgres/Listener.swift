import EventLoop

/// An event for the readers of a channel.
package enum ChannelEvent: Hashable, Sendable {
    /// The channel is listened to from now on. It comes first, and again after each reconnection: notifications in
    /// between are lost, so look at the data that the notifications are about.
    case listening
    /// Somebody notified the channel.
    case notified(payload: String)
}

/// Keeps one connection that listens, as long as anybody reads.
///
/// On the loop's thread only.
final class Listener {
    private typealias Reader = AsyncStream<ChannelEvent>.Continuation

    private let configuration: Connection.Configuration
    private let loop: EventLoop
    private var readers: [String: [Reader]] = [:]
    private var wire: Wire?
    private var backoff: Backoff
    private var retryTimer: LoopTimer?
    private var isClosed = false

    init(_ configuration: Client.Configuration, loop: EventLoop) {
        self.configuration = configuration.direct ?? configuration.connection
        self.loop = loop
        backoff = Backoff(configuration)
    }

    func add(_ reader: AsyncStream<ChannelEvent>.Continuation, channel: String) {
        readers[channel, default: []].append(reader)
        guard let wire else { return connect() }
        // Harmless when the channel is listened to already; the answer tells the new reader that it is.
        if wire.isOpen { listen(to: channel, on: wire) }
    }

    func close() {
        isClosed = true
        wire?.close()
        readers.values.joined().forEach { $0.finish() }
        readers = [:]
        if let retryTimer { loop.set(retryTimer, for: nil) }
    }

    private func connect() {
        guard !isClosed else { return }
        let wire = Wire(configuration, loop: loop)
        self.wire = wire
        wire.observer = Wire.Observer(
            opened: { [weak self, weak wire] in
                guard let self, let wire else { return }
                backoff.reset()
                for channel in readers.keys { listen(to: channel, on: wire) }
            },
            closed: { [weak self] _ in self?.reconnectLater() },
            notified: { [weak self] in self?.tell(.notified(payload: $1), channel: $0) }
        )
        wire.open()
    }

    private func listen(to channel: String, on wire: Wire) {
        wire.ask(
            PipelineEntry(.query("LISTEN \(Query.identifier(channel))", behind: [])) {
                [weak self] answer in
                // A refusal is the connection's end, or a server that cannot listen; then readers keep to their polls.
                if case .success = answer { self?.tell(.listening, channel: channel) }
            })
    }

    private func tell(_ event: ChannelEvent, channel: String) {
        readers[channel]?.removeAll { reader in
            if case .terminated = reader.yield(event) { true } else { false }
        }
        if readers[channel]?.isEmpty == true { readers[channel] = nil }
    }

    private func reconnectLater() {
        wire = nil
        guard !isClosed else { return }
        let timer = retryTimer ?? LoopTimer { [weak self] in self?.connect() }
        retryTimer = timer
        loop.set(timer, for: .now.advanced(by: backoff.next()))
    }
}
