import Testing

@testable import FetchEngine

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ([], 10, .whole), (["bytes=0-4"], 10, .part(0..<5)), (["bytes=5-"], 10, .part(5..<10)),
            (["bytes=-3"], 10, .part(7..<10)), (["bytes=-30"], 10, .part(0..<10)), (["bytes=9-99"], 10, .part(9..<10)),
            (["bytes=10-"], 10, .unsatisfiable), (["bytes=-0"], 10, .unsatisfiable), (["bytes=0-"], 0, .unsatisfiable),
            (["bytes=4-3"], 10, .whole), (["bytes=a-b"], 10, .whole), (["bytes=1-2,4-5"], 10, .whole),
            (["bytes=1-2", "bytes=4-5"], 10, .whole), (["items=0-4"], 10, .whole), (["bytes=0-4 x"], 10, .whole),
            (["bytes=-"], 10, .whole), (["bytes=+1-2"], 10, .whole),
            (["bytes=99999999999999999999-"], 10, .unsatisfiable),
            (["bytes=0-99999999999999999999"], 10, .part(0..<10)), (["Bytes= 0-4 "], 10, .part(0..<5)),
        ] as [([String], Int64, ByteRange)])
    func `ranges are read as RFC 9110 §14 writes them`(fields: [String], length: Int64, range: ByteRange) {
        #expect(ByteRange(fields, length: length) == range)
    }

    @Test(arguments: [0..<1, 3..<7, 0..<(.max - 1)] as [Range<Int64>])
    func `a field that asks for a range is read as that range`(range: Range<Int64>) {
        #expect(ByteRange([ByteRange.field(range)], length: .max) == .part(range))
        #expect(ByteRange([ByteRange.field(from: range.lowerBound)], length: 9) == .part(range.lowerBound..<9))
    }

    @Test func `what an answer says of its range is read as that range`() {
        let part = ByteRange.part(3..<7).contentRange(of: 9).flatMap { ContentRange($0) }
        #expect(part?.range == 3...6)
        #expect(part?.total == 9)
        let none = ByteRange.unsatisfiable.contentRange(of: 9).flatMap { ContentRange($0) }
        #expect(none != nil)
        #expect(none?.range == nil)
        #expect(none?.total == 9)
        #expect(ByteRange.whole.contentRange(of: 9) == nil)
    }
}
