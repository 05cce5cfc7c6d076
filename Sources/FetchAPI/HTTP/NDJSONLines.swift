import Hummingbird
import NIOCore

/// Cuts a stream of bytes into lines.
///
/// Lines end at LF or CR LF; the last one may end with the stream. Lines of nothing but white space are skipped.
struct NDJSONLines {
    enum Line: Equatable {
        case text(ByteBuffer)
        /// Longer than allowed; its bytes were passed over.
        case tooLong
    }

    let maximumLength: Int
    private var pending = ByteBuffer()
    /// How far `pending` was searched for the end of a line.
    private var searched = 0
    private var isPassingOver = false

    init(maximumLength: Int) { self.maximumLength = maximumLength }

    mutating func append(_ chunk: ByteBuffer) {
        if pending.readableBytes == 0 {
            pending = chunk
        } else {
            pending.writeImmutableBuffer(chunk)
        }
    }

    /// The next complete line, or nil when more bytes are needed.
    mutating func next() -> Line? {
        while true {
            let view = pending.readableBytesView
            guard let end = view[view.index(view.startIndex, offsetBy: searched)...].firstIndex(of: UInt8(ascii: "\n"))
            else {
                passOver(view.count)
                return nil
            }
            let length = end - view.startIndex
            let line = pending.readSlice(length: length) ?? ByteBuffer()
            pending.moveReaderIndex(forwardBy: 1)
            searched = 0
            if let result = finish(line) { return result }
        }
    }

    /// The last line, when the stream has ended without a line break.
    mutating func last() -> Line? {
        let line = pending
        pending = ByteBuffer()
        searched = 0
        return finish(line)
    }

    /// Gives up the bytes of a line that is too long already, so that no more than one line is ever held.
    private mutating func passOver(_ count: Int) {
        searched = count
        guard count > maximumLength + 1 || isPassingOver else {
            pending.discardReadBytes()
            return
        }
        isPassingOver = true
        pending = ByteBuffer()
        searched = 0
    }

    private mutating func finish(_ line: ByteBuffer) -> Line? {
        if isPassingOver {
            isPassingOver = false
            return .tooLong
        }
        var line = line
        if line.readableBytesView.last == UInt8(ascii: "\r") { line.moveWriterIndex(to: line.writerIndex - 1) }
        guard line.readableBytes <= maximumLength else { return .tooLong }
        let isBlank = line.readableBytesView.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        return isBlank ? nil : .text(line)
    }
}
