import EventLoop
import Synchronization

/// A response from the cache whose body is read piece by piece.
// @unchecked: everything here is touched on the loop's thread alone.
final class CachedExchange: Exchange, @unchecked Sendable {
    let request: Request
    let shared: SharedConfiguration
    let state: LoadState
    let delivery: Delivery
    private let reader: any CachedBodyReader
    private var isReading = false

    init(
        _ response: Response, reader: any CachedBodyReader, for request: Request,
        configuration: SharedConfiguration, state: LoadState
    ) {
        self.request = request
        shared = configuration
        self.state = state
        self.reader = reader
        delivery = Delivery(for: request)
        delivery.response = response
    }

    func resumeReceiving() {
        isReceivingPaused = false
        read()
    }

    func suspensionChanged() { read() }

    /// Reads the next piece, unless the reader of the body has enough.
    func read() {
        state.assertOnLoop()
        guard !isReading, outcome == nil, !state.isSuspended else { return }
        guard body.count < capacity else {
            isReceivingPaused = true
            return
        }
        isReading = true
        _ = startApart { [self] in
            let piece: Result<[UInt8]?, LoadError>
            do throws(LoadError) {
                piece = .success(try await reader.next())
            } catch {
                piece = .failure(error)
            }
            state.loop.perform { self.took(piece) }
        }
    }

    private func took(_ piece: Result<[UInt8]?, LoadError>) {
        isReading = false
        guard outcome == nil else { return }
        switch piece {
        case .success(let bytes?):
            body += bytes
            bodyBytes += Int64(bytes.count)
            state.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
            read()
        case .success(nil): outcome = .some(nil)
        case .failure(let error): outcome = .some(error.at(request.url))
        }
        wakeIfMet()
    }
}
