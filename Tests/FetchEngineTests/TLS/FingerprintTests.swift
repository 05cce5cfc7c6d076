import Testing

@testable import FetchEngine

@Suite struct FingerprintTests {
    // SHA-256 of "abc", FIPS 180-2 appendix B.1.
    private static let hexadecimal = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let base64 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

    @Test func `a digest is SHA-256 and prints as hexadecimal digits`() {
        #expect(Fingerprint(of: Array("abc".utf8)).description == Self.hexadecimal)
        #expect(Fingerprint(of: Array("abc".utf8)).base64 == Self.base64)
    }

    @Test(arguments: [
        hexadecimal, hexadecimal.uppercased(), base64, "sha256/" + base64, "sha256//" + base64,
        "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD",
    ])
    func `each usual way to write a digest is read`(_ text: String) {
        #expect(Fingerprint(text) == Fingerprint(of: Array("abc".utf8)))
    }

    @Test(arguments: [
        "", "ba78", String(hexadecimal.dropLast()), hexadecimal + "0", "sha1/" + base64, String(base64.dropLast()),
        String(repeating: "=", count: 44), "zz" + hexadecimal.dropFirst(2),
    ])
    func `anything else is none`(_ text: String) { #expect(Fingerprint(text) == nil) }

    @Test func `chains that differ in where one certificate ends differ`() {
        #expect(Fingerprint(ofAll: [[1, 2], [3]]) != Fingerprint(ofAll: [[1], [2, 3]]))
    }
}
