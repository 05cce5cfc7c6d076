/// The lines of a body, as text.
///
/// A line ends with LF or CR LF, which are not part of it; the last one needs none. Bytes that are no UTF-8 become
/// U+FFFD.
public struct ResponseLines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = LoadError

    let body: ResponseBody

    /// Starts to read.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: body.makeAsyncIterator()) }

    /// Reads line by line.
    public struct Iterator: AsyncIteratorProtocol {
        var chunks: ResponseBody.Iterator
        private var bytes: [UInt8] = []
        private var start = 0
        /// Up to where there is no line end.
        private var searched = 0
        private var isAtEnd = false

        init(chunks: ResponseBody.Iterator) { self.chunks = chunks }

        /// The next line, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(LoadError) -> String? {
            while true {
                if let end = bytes[searched...].firstIndex(of: 0x0A) {
                    defer { (start, searched) = (end + 1, end + 1) }
                    return text(upTo: end)
                }
                searched = bytes.count
                guard !isAtEnd else { return lastLine() }
                bytes.removeFirst(start)
                (start, searched) = (0, bytes.count)
                if let chunk = try await chunks.next(isolation: actor) {
                    bytes.append(contentsOf: chunk)
                } else {
                    isAtEnd = true
                }
            }
        }

        private mutating func lastLine() -> String? {
            guard start < bytes.count else { return nil }
            defer { start = bytes.count }
            return text(upTo: bytes.count)
        }

        private func text(upTo end: Int) -> String {
            let line = bytes[start..<end]
            return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
    }
}

extension ResponseBody {
    /// The body line by line.
    public var lines: ResponseLines { ResponseLines(body: self) }
}
