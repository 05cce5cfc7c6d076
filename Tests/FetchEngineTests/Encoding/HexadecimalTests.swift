import Testing

@testable import FetchEngine

@Suite struct HexadecimalTests {
    @Test func `every byte is written as two digits, and read from either case`() {
        let bytes = Array(UInt8.min ... .max)
        let text = Hexadecimal.text(bytes)
        #expect(text.hasPrefix("000102"))
        #expect(text.hasSuffix("fdfeff"))
        #expect(Hexadecimal.decode(text.utf8) == bytes)
        #expect(Hexadecimal.decode(text.uppercased().utf8) == bytes)
        #expect(Hexadecimal.decode("".utf8) == [])
    }

    @Test(arguments: ["0", "abc", "0g", "0 ", "0x", ":0", "é0"])
    func `nothing but pairs of digits is read`(text: String) { #expect(Hexadecimal.decode(text.utf8) == nil) }
}
