import FetchJobs
import Foundation
import Testing

@testable import FetchAPI

@Suite struct ChartTests {
    private static let parts = [
        Chart.Part(style: "good", title: "succeeded"), Chart.Part(style: "bad", title: "failed"),
    ]

    private struct Rect {
        let style: String
        let x: Double
        let y: Double
        let width: Double
        let height: Double
    }

    /// The rectangles of a picture.
    private static func rects(_ svg: String) -> [Rect] {
        let pattern = /<rect class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"\/>/
        return svg.matches(of: pattern).map { match in
            func number(_ text: Substring) -> Double { Double(text) ?? -1 }
            return Rect(
                style: String(match.1), x: number(match.2), y: number(match.3), width: number(match.4),
                height: number(match.5))
        }
    }

    @Test func `bars stand side by side, their parts on top of one another, the highest from edge to edge`() {
        let svg = Chart.bars(
            "Ends", Self.parts,
            [
                .init(label: "10:00", values: [3, 1]), .init(label: "10:01", values: [0, 0]),
                .init(label: "10:02", values: [2, 0]),
            ])
        let rects = Self.rects(svg)
        #expect(rects.map(\.style) == ["good", "bad", "good"])
        #expect(rects.map(\.height) == [75, 25, 50] && rects.map(\.y) == [25, 0, 50])
        #expect(rects.map(\.x) == [20, 20, 420] && rects.allSatisfy { $0.width == 160 })
        #expect(svg.contains(#"aria-label="Ends: 5 succeeded, 1 failed""#) && svg.contains(#"role="img""#))
        #expect(svg.contains("<title>10:00: 3 succeeded, 1 failed</title>"))
    }

    @Test func `no figures make an empty picture, and little ones can be seen`() {
        #expect(Self.rects(Chart.bars("Ends", Self.parts, [])).isEmpty)
        #expect(Self.rects(Chart.bars("Ends", Self.parts, [.init(label: "a", values: [0, 0])])).isEmpty)
        let rects = Self.rects(Chart.bars("Ends", Self.parts, [.init(label: "a", values: [100_000, 1])]))
        #expect(rects.map(\.height) == [100, 1] && rects.allSatisfy { $0.y >= 0 })
    }

    @Test func `a heatmap has a cell for each number, the darkest for the highest`() {
        let svg = Chart.heatmap(
            "Times", rows: ["slow", "fast"], columns: ["a", "b", "c"], [[0, 1, 0], [10, 5, 0]])
        let rects = Self.rects(svg)
        #expect(rects.map(\.style) == ["heat1", "heat5", "heat3"])
        #expect(rects.map(\.y) == [1, 15, 15] && rects.map(\.x) == [201, 1, 201])
        #expect(svg.contains("<title>a, fast: 10</title>"))
    }

    @Test func `what is written in a picture is text`() {
        let svg = Chart.bars("<b>\"", [.init(style: "good", title: "<i>")], [.init(label: "</title><b>", values: [1])])
        #expect(!svg.contains("<b>") && !svg.contains("<i>") && svg.contains("&lt;/title&gt;&lt;b&gt;"))
    }

    @Test func `numbers are for people`() {
        #expect(Figure.text(Int64(1_234_567)) == "1\u{202F}234\u{202F}567" && Figure.text(Int64(-42)) == "-42")
        #expect(Figure.text(BoundedCount(10_001)) == "10\u{202F}000+" && Figure.text(BoundedCount(7)) == "7")
        #expect(Figure.bytes(999) == "999 B" && Figure.bytes(1_500_000) == "1.5 MB")
        #expect([0, 0.0042, 0.5, 3.456].map { Figure.rate($0) } == ["0", "0.0042", "0.50", "3.5"])
        #expect(Figure.percent(1, of: 3) == "33.3 %" && Figure.percent(1, of: 0) == nil)
    }

    @Test func `a sample tells of hosts, answers and times`() throws {
        let start = Timestamp(microseconds: 1_764_115_200_000_000)
        let jobs = (0..<40).map { number -> SampledJob in
            let fails = number % 4 == 0
            let status = fails ? nil : number % 5 == 0 ? 503 : 200
            return SampledJob(
                id: Job.ID(), state: fails ? .failed : .succeeded, finishedAt: start.advanced(by: .seconds(number)),
                duration: Double(number) / 100, waiting: 1, status: status, errorName: fails ? "timedOut" : nil,
                host: number < 30 ? "a.example" : "b.example")
        }
        let hosts = Activity.all(in: jobs, of: .host)
        #expect(hosts.map(\.name) == ["a.example", "b.example"] && hosts.map(\.jobs) == [30, 10])
        #expect(hosts.first?.failed == 8 && hosts.first?.refused == 4 && hosts.first?.median == "140.0 ms")
        let slices = try #require(Sample(jobs).slices)
        #expect(slices.columns.count == 30 && slices.columns.reduce(0) { $0 + $1.jobs.count } == 40)
        #expect(Sample(jobs).words(now: start).contains("They wait 1.0 s (50 %)"))
        #expect(Sample([]).slices == nil)
    }
}
