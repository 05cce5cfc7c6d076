/// Bytes as hexadecimal digits.
enum Hexadecimal {
    /// Two lower-case digits for each byte.
    static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
