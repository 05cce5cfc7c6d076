import Testing

@testable import fetchd

@Suite struct ProgressBarTests {
    private let plain = ProgressBar.Style(columns: 80, hasColor: false)

    @Test func `a known length gives share, rate and time left`() {
        var bar = ProgressBar(style: plain)
        _ = bar.line(received: 0, expected: 8 << 20, time: .zero)
        let line = bar.line(received: 2 << 20, expected: 8 << 20, time: .seconds(2))
        #expect(line == "[=====>                     ]  25 %  2.0 MiB of 8.0 MiB  1.0 MiB/s  00:06 left")
    }

    @Test func `an unknown length gives bytes, rate and time gone`() {
        var bar = ProgressBar(style: plain)
        #expect(bar.line(received: 3 << 20, expected: nil, time: .seconds(3)) == "3.0 MiB  1.0 MiB/s  00:03")
    }

    @Test func `the rate forgets what is longer ago than its window`() {
        var bar = ProgressBar(style: plain)
        for second in 0...10 { _ = bar.line(received: Int64(second) << 20, expected: nil, time: .seconds(second)) }
        for second in 11...20 { _ = bar.line(received: 10 << 20, expected: nil, time: .seconds(second)) }
        #expect(bar.line(received: 10 << 20, expected: nil, time: .seconds(21)).contains("  0 B/s  "))
    }

    @Test func `the bar is full at the end, and more than promised does not overflow it`() {
        for received in [4096, 9999] as [Int64] {
            var bar = ProgressBar(style: plain)
            let line = bar.line(received: received, expected: 4096, time: .seconds(1))
            #expect(line.contains("=] 100 %"))
        }
    }

    @Test(arguments: [0, 1, 20, 40, 60, 80, 120, 400])
    func `a line never reaches the last column`(columns: Int) {
        for color in [ProgressBar.Style(columns: columns, hasColor: false)] {
            var bar = ProgressBar(style: color)
            #expect(bar.line(received: 5 << 30, expected: 9 << 30, time: .seconds(4000)).count <= max(0, columns - 1))
            #expect(bar.line(received: 5 << 30, expected: nil, time: .seconds(4000)).count <= max(0, columns - 1))
        }
    }

    @Test func `without color there is no escape sequence`() {
        var colorful = ProgressBar(style: ProgressBar.Style(columns: 80, hasColor: true))
        var bar = ProgressBar(style: plain)
        #expect(colorful.line(received: 1, expected: 2, time: .seconds(1)).contains("\u{1B}[32m"))
        #expect(!bar.line(received: 1, expected: 2, time: .seconds(1)).contains("\u{1B}"))
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (10_188, "9.9 KiB"), (10_240, "10 KiB"),
            (1_048_000, "1023 KiB"), (1_048_575, "1.0 MiB"), (1 << 30, "1.0 GiB"), (Int64.max, "8.0 EiB"),
        ] as [(Int64, String)])
    func `sizes have at most four digits`(bytes: Int64, expected: String) {
        #expect(ByteCount.text(bytes) == expected)
    }

    @Test(arguments: [(0, "00:00"), (59, "00:59"), (3599, "59:59"), (3600, "1:00:00"), (900_000, "99:59:59")])
    func `times read as a clock does`(seconds: Int, expected: String) {
        #expect(ProgressBar.clock(.seconds(seconds)) == expected)
    }
}
