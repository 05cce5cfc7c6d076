import Testing

@testable import FetchEngine

@Suite struct CacheControlTests {
    // Proves: CCH-8.
    @Test func `directives are read in order, with arguments plain and quoted`() {
        let control = CacheControl([" Max-Age=60 , private=\"Set-Cookie, X\",no-store", "x=\"a\\\"b,c\" ;q, y="])
        #expect(
            control.directives == [
                .init(name: "max-age", argument: "60"), .init(name: "private", argument: "Set-Cookie, X"),
                .init(name: "no-store", argument: nil), .init(name: "x", argument: "a\"b,c"),
                .init(name: "y", argument: ""),
            ])
    }

    // RFC 9111 §1.2.2, §4.2.1.
    // Proves: CCH-8.
    @Test(arguments: [
        ("max-age=60", 60), ("max-age=\"60\"", 60), ("max-age=0", 0), ("max-age=007", 7),
        ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999999999999", 2_147_483_648),
        ("max-age=-1", 0), ("max-age=+1", 0), ("max-age=1.5", 0), ("max-age=", 0), ("max-age", 0), ("max-age='60'", 0),
        ("max-age =60", 0), ("max-age=60, max-age=60", 60), ("max-age=60, max-age=30", 0), ("max-age= 60", 0),
        ("max-age=60 ", 60),
    ])
    func `seconds that cannot be trusted are none`(_ value: String, _ seconds: Int) {
        #expect(CacheControl([value]).seconds("max-age") == .seconds(seconds))
    }

    @Test func `an absent directive has no seconds`() {
        #expect(CacheControl(["s-maxage=3"]).seconds("max-age") == nil)
        #expect(CacheControl([]).isEmpty)
    }

    @Test func `any bytes are read`() {
        let pieces = ["max-age", "=", ",", "\"", "\\", " ", "1", "\t", "=\"", "é", ";", "no-store"]
        var state: UInt64 = 1
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<8 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text += pieces[Int(state >> 33) % pieces.count]
            }
            let control = CacheControl([text])
            #expect(control.directives.allSatisfy { !$0.name.isEmpty })
            #expect((control.seconds("max-age") ?? .zero) >= .zero)
        }
    }
}
