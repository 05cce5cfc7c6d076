import FetchStorage
import Foundation
import Testing

@Suite struct KeyRingTests {
    private func key(_ number: Int, _ byte: UInt8) -> String {
        "\(number):\(Data(repeating: byte, count: 32).base64EncodedString())"
    }

    private let place = KeyRing.Place(table: "t", column: "c", tenant: 1, row: "r")

    // Proves: SEC-50.
    @Test func `what is sealed opens in its place and in no other`() throws {
        let ring = try KeyRing(KeyRing.generate())
        let sealed = try ring.seal([1, 2, 3], for: place)
        #expect(try ring.open(sealed, for: place) == [1, 2, 3])
        let others = [
            KeyRing.Place(table: "t", column: "d", tenant: 1, row: "r"),
            KeyRing.Place(table: "t", column: "c", tenant: 2, row: "r"),
            KeyRing.Place(table: "t", column: "c", tenant: 1, row: "s"),
        ]
        for other in others { #expect(throws: (any Error).self) { try ring.open(sealed, for: other) } }
    }

    // Proves: SEC-51.
    @Test func `a new key in front seals, and the old one still opens`() throws {
        let old = try KeyRing(key(1, 7))
        let both = try KeyRing("\(key(2, 8)), \(key(1, 7))")
        let new = try KeyRing(key(2, 8))
        #expect(try both.open(try old.seal([1], for: place), for: place) == [1])
        #expect(try new.open(try both.seal([1], for: place), for: place) == [1])
        #expect(throws: KeyRing.Failure.self) { try new.open(try old.seal([1], for: place), for: place) }
    }

    // Proves: SEC-53.
    @Test(arguments: ["", "1", "1:", "1:AAAA", "x:\(Data(count: 32).base64EncodedString())"])
    func `a ring of missing or short keys is refused, without quoting it`(text: String) {
        #expect { try KeyRing(text) } throws: { error in
            text.count < 4 || !"\(error)".contains(text)
        }
    }

    @Test func `one number for two keys is refused`() {
        #expect(throws: KeyRing.Failure.self) { try KeyRing("\(key(1, 7)),\(key(1, 8))") }
    }
}
