import Foundation
import Testing

@testable import FetchJobs

// The macros take no names with a module before them.
private typealias Zone = FetchJobs.TimeZone
private typealias FoundationZone = Foundation.TimeZone

@Suite struct TimeZoneTests {
    /// Zones whose rules have not changed for years, some with summer time in the south, half hours, a summer time of half
    /// an hour, and one in winter that is behind.
    static let names = [
        "Europe/Berlin", "Europe/Dublin", "Europe/London", "America/New_York", "America/Sao_Paulo", "America/St_Johns",
        "Australia/Adelaide", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo",
        "Africa/Casablanca",
        "Pacific/Auckland", "Pacific/Chatham", "Pacific/Kiritimati", "America/Santiago", "Asia/Jerusalem", "Etc/GMT+5",
    ]

    @Test(arguments: names)
    func `a clock shows what that of Foundation shows`(name: String) throws {
        let zone = try #require(Zone(named: name))
        let other = try #require(FoundationZone(identifier: name))
        // By 7 hours and a bit from 1970 to 2100, so that all hours come, and each change within a day.
        var time: Int64 = 0
        while time < 4_102_444_800 {
            let expected = other.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
            #expect(zone.offset(at: time) == Int64(expected), "\(name) at \(time)")
            guard zone.offset(at: time) == Int64(expected) else { return }
            time += 25_777
        }
    }

    @Test(arguments: [
        "", "EST", "Europe", "Europe/Nowhere", "Europe/Berlin/", "/Europe/Berlin", "Europe//Berlin",
        "posix/Europe/Berlin",
        "right/Europe/Berlin", "../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin", "Europe/Berlin\0", "GMT+5",
        "Europe/Bérlin",
    ])
    func `what is no name of the database is no zone`(name: String) {
        #expect(Zone(named: name) == nil)
    }

    @Test func `the clock of UTC needs no database`() throws {
        let zone = try #require(Zone(named: "UTC"))
        #expect(zone == .utc)
        #expect(zone.offset(at: 1_795_000_000) == 0)
    }

    /// Rules as files have them for the time after the last change that they list.
    ///
    /// 2026-01-01 is 1767225600, 2026-07-01 is 1782864000.
    @Test(arguments: [
        ("UTC0", 1_767_225_600, 0), ("<+0330>-3:30", 1_767_225_600, 12_600), ("<-0930>9:30", 1_767_225_600, -34_200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_767_225_600, 3600), ("CET-1CEST,M3.5.0,M10.5.0/3", 1_782_864_000, 7200),
        // The last second before each change of 2026, and the first after it.
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999, 3600), ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_746_000, 7200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_792_889_999, 7200), ("CET-1CEST,M3.5.0,M10.5.0/3", 1_792_890_000, 3600),
        // South of the equator.
        ("NZST-12NZDT,M9.5.0,M4.1.0/3", 1_767_225_600, 46_800), ("NZST-12NZDT,M9.5.0,M4.1.0/3", 1_782_864_000, 43_200),
        // Standard time in summer, and an hour less in winter.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 1_767_225_600, 0), ("IST-1GMT0,M10.5.0,M3.5.0/1", 1_782_864_000, 3600),
        // Times before midnight, and after the day.
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_745_999, -7200),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_746_000, -3600),
        ("IST-2IDT,M3.4.4/26,M10.5.0", 1_774_569_599, 7200), ("IST-2IDT,M3.4.4/26,M10.5.0", 1_774_569_600, 10_800),
        // Summer all year, and days by their number: J60 is 1 March, 59 too where there is no 29 February.
        ("XXX3EDT4,0/0,J365/23", 1_767_225_600, -14_400), ("XXX3EDT4,0/0,J365/23", 1_782_864_000, -14_400),
        ("AAA0BBB,J60/0,J300/0", 1_772_323_199, 0), ("AAA0BBB,J60/0,J300/0", 1_772_323_200, 3600),
        ("AAA0BBB,59/0,J300/0", 1_772_323_199, 0), ("AAA0BBB,59/0,J300/0", 1_772_323_200, 3600),
        // 2028-02-29 is 1835395200.
        ("AAA0BBB,J60/0,J300/0", 1_835_395_200, 0), ("AAA0BBB,59/0,J300/0", 1_835_395_200, 3600),
    ])
    func `a rule holds for all years`(rule: String, time: Int64, offset: Int32) throws {
        let transitions = try #require(TimeZoneTransitions(tzif: Self.file(rule: rule)))
        #expect(transitions.offset(at: time) == offset)
    }

    @Test(arguments: [
        "CET", "1", "CE-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J300", "CET-1CEST,366,J300", "CET-1CEST,M3.5.0,M10.5.0/168", "<+03-3",
        "CET-1:60", "CET-1CEST,M3.5.0,M10.5.0/3x",
    ])
    func `a file whose rule is none is not read`(rule: String) {
        #expect(TimeZoneTransitions(tzif: Self.file(rule: rule)) == nil)
    }

    @Test func `a file that is cut is not read`() throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
        #expect(TimeZoneTransitions(tzif: bytes) != nil)
        for count in 0..<bytes.count { #expect(TimeZoneTransitions(tzif: Array(bytes.prefix(count))) == nil) }
    }

    @Test func `a file with counts that are too large is not read`() {
        for position in 20..<44 {
            var bytes = Self.file(rule: "UTC0")
            bytes[position] = 0xFF
            #expect(TimeZoneTransitions(tzif: bytes) == nil)
        }
    }

    /// A file of version 2 without changes.
    private static func file(rule: String) -> [UInt8] {
        let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        // One type and four characters.
        let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]
        let block = header + counts + [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8)
        return block + block + Array("\n\(rule)\n".utf8)
    }
}
