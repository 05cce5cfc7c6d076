import Testing

@testable import FetchAPI

@Suite struct LineCutterTests {
    private func pieces(_ chunks: [String]) -> (lines: [String], rest: String) {
        var cutter = LineCutter()
        let lines = chunks.map { String(decoding: cutter.add(Array($0.utf8)), as: UTF8.self) }
        return (lines, String(decoding: cutter.rest, as: UTF8.self))
    }

    @Test func `whole lines go on, and the beginning of the next one waits for its end`() {
        let (lines, rest) = pieces(["", "a", "b\r\nc", "\n\nd\ne", "f"])
        #expect(lines == ["", "", "ab\r\n", "c\n\nd\n", ""] && rest == "ef")
    }

    @Test func `a line that is too long goes on in pieces`() {
        let half = String(repeating: "x", count: 200_000)
        let (lines, rest) = pieces([half, half, half, "\ny"])
        #expect(lines.map(\.utf8.count) == [0, 400_000, 0, 200_001] && rest == "y")
    }
}
