import EventLoop
import Synchronization

/// An answer from the cache whose body is read piece by piece.
final class CachedExchange: Exchange, @unchecked Sendable {
    private let reader: any CachedBodyReader
    private var isReading = false

    init(
        _ response: Response, reader: any CachedBodyReader, for request: Request,
        configuration: SharedConfiguration, load: Load
    ) {
        self.reader = reader
        super.init(request: request, configuration: configuration, load: load)
        self.response = response
    }

    override func resumeReceiving() {
        isReceivingPaused = false
        read()
    }

    override func suspensionChanged() { read() }

    /// Reads the next piece, unless the reader of the body has enough.
    func read() {
        guard !isReading, outcome == nil, !load.isSuspended else { return }
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
            load.loop.perform { self.took(piece) }
        }
    }

    private func took(_ piece: Result<[UInt8]?, LoadError>) {
        isReading = false
        guard outcome == nil else { return }
        switch piece {
        case .success(let bytes?):
            body += bytes
            bodyBytes += Int64(bytes.count)
            load.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
            read()
        case .success(nil): outcome = .some(nil)
        case .failure(let error): outcome = .some(error.at(request.url))
        }
        wakeIfMet()
    }
}
