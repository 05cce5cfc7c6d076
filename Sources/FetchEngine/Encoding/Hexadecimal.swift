/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Two lower-case digits for each byte.
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// The same as text.
    package static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: encode(bytes), as: UTF8.self) }

    /// The bytes that digits of either case stand for; nil when there is anything else, or half a byte.
    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        let values = digits.compactMap(\.hexValue)
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

extension UInt8 {
    /// The value of a hexadecimal digit; nil when it is none.
    package var hexValue: UInt8? {
        if isASCIIDigit { return self - UInt8(ascii: "0") }
        let letter = self | 0x20
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "f") ? letter - UInt8(ascii: "a") + 10 : nil
    }
}
