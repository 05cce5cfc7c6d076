import Glibc
import Synchronization

/// One connection of a `WireOrigin`, from the server's side.
///
/// Its steps block the thread that serves it.
package final class WireConnection: Sendable {
    /// A step that could not be done: the peer is gone, or ten seconds have passed.
    package struct Failure: Error {
        package let number: Int32
    }

    private struct State {
        var received: [UInt8] = []
        /// How much of it the steps have taken.
        var taken = 0
        var isOver = false
    }

    let descriptor: Int32
    private let state = Mutex(State())

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Every byte received so far.
    package var received: [UInt8] { state.withLock { $0.received } }

    /// Whether the connection was served to its end.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Takes the next request head with its empty line, or nil when the peer closed before one.
    @discardableResult
    package func receiveHead() throws -> String? {
        while true {
            let head: ArraySlice<UInt8>? = state.withLock { state in
                let rest = state.received[state.taken...]
                guard let end = Self.end(ofHeadIn: rest) else { return nil }
                state.taken = end
                return rest[..<end]
            }
            if let head { return String(decoding: head, as: UTF8.self) }
            guard try receiveMore() else { return nil }
        }
    }

    /// Takes exactly so many bytes.
    @discardableResult
    package func receive(_ count: Int) throws -> [UInt8] {
        while state.withLock({ $0.received.count - $0.taken }) < count {
            guard try receiveMore() else { throw Failure(number: ECONNRESET) }
        }
        return state.withLock { state in
            defer { state.taken += count }
            return Array(state.received[state.taken..<state.taken + count])
        }
    }

    /// Takes a body in chunked coding and returns its content.
    @discardableResult
    package func receiveChunked() throws -> [UInt8] {
        var content: [UInt8] = []
        while true {
            let size = try receiveLine()
            guard let count = Int(size, radix: 16) else { throw Failure(number: EPROTO) }
            content += try receive(count)
            _ = try receiveLine()
            if count == 0 { return content }
        }
    }

    /// Receives bytes until the peer closes its side.
    package func receiveToEnd() throws { while try receiveMore() {} }

    /// Sends text as UTF-8.
    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends bytes.
    package func send(_ bytes: [UInt8]) throws {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(number: errno) }
            offset += count
        }
    }

    /// Makes the coming close a reset.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    func finish() {
        state.withLock { state in
            state.isOver = true
            close(descriptor)
        }
    }

    func abandon() {
        state.withLock { state in
            if !state.isOver { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Takes a line without its end.
    package func receiveLine() throws -> String {
        var line: [UInt8] = []
        while case let byte = try receive(1)[0], byte != 0x0A { line.append(byte) }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }

    private func receiveMore() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failure(number: errno) }
        state.withLock { $0.received.append(contentsOf: buffer[..<count]) }
        return count > 0
    }

    private static func end(ofHeadIn bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (bytes.startIndex...(bytes.endIndex - 4)).first {
            bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
        }.map { $0 + 4 }
    }
}
