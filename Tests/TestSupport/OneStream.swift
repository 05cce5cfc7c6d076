package import FetchEngine
import Synchronization

/// Bytes that can be sent once.
package final class OneStream: BodyStreamProvider {
    private let bytes: Mutex<[UInt8]?>

    package init(bytes: [UInt8]) { self.bytes = Mutex(bytes) }

    package func makeStream() async -> BodyPipe? {
        let taken = bytes.withLock { bytes in
            defer { bytes = nil }
            return bytes
        }
        guard let taken else { return nil }
        let pipe = BodyPipe(capacity: taken.count + 1)
        // They fit the pipe, and so are written at once.
        try? await pipe.write(taken)
        pipe.finish()
        return pipe
    }
}
