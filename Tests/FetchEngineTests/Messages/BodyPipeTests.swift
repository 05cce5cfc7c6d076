import Testing

@testable import FetchEngine

@Suite struct BodyPipeTests {
    // Proves: UPL-5.
    @Test func `a pipe that never runs empty keeps little of what was read`() async throws {
        let pipe = BodyPipe(capacity: 1000)
        try await pipe.write([UInt8](repeating: 0, count: 100))
        var (written, read): (UInt8, [UInt8]) = (0, [])
        var buffer = [UInt8](repeating: 0, count: 300)
        for _ in 0..<100 {
            written &+= 1
            try await pipe.write([UInt8](repeating: written, count: 300))
            #expect(buffer.withUnsafeMutableBytes { pipe.read(into: $0) {} } == .bytes(300))
            read += buffer
            #expect(pipe.kept <= 1400)
        }
        #expect(
            read == [UInt8](repeating: 0, count: 100) + (1...99).flatMap { [UInt8](repeating: $0, count: 300) }
                + [UInt8](repeating: 100, count: 200))
    }
}
