package import FetchEngine
import Synchronization

/// The body of a request that a client sends while its job does: its bytes go to the transfer as fast as that takes
/// them, and no faster.
package final class LiveUpload: BodyStreamProvider {
    package enum Failure: Error, Sendable {
        /// The transfer has not asked for a body, or has it already.
        case notWanted
        /// The transfer took no more: it asks for the body again from its start, or has ended.
        case cutShort
    }

    private struct State {
        /// The pipe without a writer yet.
        var waiting: BodyPipe?
        var isOver = false
        var onWanted: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    func onWanted(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onWanted = action } }

    // MARK: The transfer

    package func makeStream() async -> BodyPipe? {
        let pipe = BodyPipe()
        let onWanted = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isOver else { return nil }
            state.waiting = pipe
            return state.onWanted
        }
        guard let onWanted else { return nil }
        onWanted()
        return pipe
    }

    /// The job is over.
    func end() {
        let pipe = state.withLock { state in
            state.isOver = true
            return state.waiting.take()
        }
        pipe?.fail()
    }

    // MARK: The client

    /// Whether the transfer waits for a writer.
    package var isWanted: Bool { state.withLock { $0.waiting != nil } }

    /// Feeds the transfer to the end of the body.
    ///
    /// - Parameter next: Gives the next bytes, and nil at the end. An error that it throws ends the body short.
    /// - Throws: ``Failure``, or the error of `next`.
    package func feed(from next: () async throws -> [UInt8]?) async throws {
        guard let pipe = state.withLock({ $0.waiting.take() }) else { throw Failure.notWanted }
        do {
            while let bytes = try await next() { try await pipe.write(bytes) }
        } catch is BodyPipe.Closed {
            throw Failure.cutShort
        } catch {
            pipe.fail()
            throw error
        }
        pipe.finish()
    }
}
