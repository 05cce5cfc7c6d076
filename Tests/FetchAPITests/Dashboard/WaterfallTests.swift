import FetchJobs
import Testing

@testable import FetchAPI

@Suite struct WaterfallTests {
    private static func waterfall(_ json: String) throws -> Waterfall {
        Waterfall(metrics: try JSONParser.parse(json.utf8))
    }

    @Test func `phases become bars, the wait between them too, and the handshake is taken out of the connect`() throws {
        let waterfall = try Self.waterfall(
            #"""
            [{"fetchStart":"2026-11-21T10:52:00.130Z","domainLookup":[0,0.004],"connect":[0.004,0.03],
              "secureConnection":[0.012,0.03],"request":[0.03,0.031],"response":[0.045,0.049],"duration":0.049}]
            """#
        )
        let row = try #require(waterfall.rows.first)
        #expect(
            row.bars == [
                .init(phase: .domainLookup, start: 0, end: 0.004),
                .init(phase: .connect, start: 0.004, end: 0.012),
                .init(phase: .secureConnection, start: 0.012, end: 0.03),
                .init(phase: .request, start: 0.03, end: 0.031),
                .init(phase: .waiting, start: 0.031, end: 0.045),
                .init(phase: .response, start: 0.045, end: 0.049),
            ]
        )
    }

    @Test func `transfers lie on one time line`() throws {
        let waterfall = try Self.waterfall(
            #"""
            [{"fetchStart":"2026-11-21T23:59:59.750Z","duration":0.5,"response":[0.4,0.5]},
             {"fetchStart":"2026-11-22T00:00:00.250Z","duration":0.5,"response":[0.25,0.5]}]
            """#
        )
        #expect(waterfall.rows.map(\.start) == [0, 0.5])
        #expect(waterfall.began == Timestamp(rfc3339: "2026-11-21T23:59:59.750Z"))
        #expect(waterfall.rows[1].bars == [.init(phase: .response, start: 0.75, end: 1)])
    }

    @Test(arguments: [
        "null", "[]", "[null]", "[{}]", #"[{"connect":"x"}]"#, #"[{"connect":[1]}]"#, #"[{"connect":[2,1]}]"#,
        #"[{"connect":[-1,1],"duration":-5}]"#, #"[{"fetchStart":"soon","duration":1e999}]"#,
    ])
    func `what is not as it should be is left out`(json: String) throws {
        let waterfall = try Self.waterfall(json)
        for row in waterfall.rows {
            #expect(row.bars.isEmpty)
            #expect(row.end.isFinite && row.end >= row.start)
        }
    }

    @Test(arguments: [(0.0000123, "0.01 ms"), (0.004, "4.0 ms"), (0.1234, "123.4 ms"), (1.256, "1.26 s")])
    func `durations are shown in the unit that fits`(seconds: Double, text: String) {
        #expect(Waterfall.show(seconds) == text)
    }
}
