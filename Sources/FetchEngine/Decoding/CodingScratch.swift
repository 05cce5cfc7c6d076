/// Memory that a coding library writes its output to.
///
/// Kept from call to call, so that a chunk that decodes to little costs little.
// @unchecked: used by one decoder, and a decoder by one thread at a time.
final class CodingScratch: @unchecked Sendable {
    static let byteCount = 16 * 1024

    private let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: byteCount)

    init() { memory.initialize(repeating: 0) }

    deinit { memory.deallocate() }

    /// Appends up to `room` bytes that `write` writes; it returns how many.
    func fill(_ output: inout [UInt8], upTo room: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
        let count = write(UnsafeMutableBufferPointer(rebasing: memory[..<min(room, Self.byteCount)]))
        output.append(contentsOf: UnsafeBufferPointer(rebasing: memory[..<count]))
    }
}
