package import FetchEngine

extension ExpectedDigest {
    /// A digest by the name that RFC 9530 gives its algorithm, and its hexadecimal digits; nil for an unknown algorithm
    /// and for what are not its digits.
    package init?(_ name: String, hexadecimal digits: some StringProtocol) {
        guard let algorithm = ContentDigest(rawValue: name), let bytes = Hexadecimal.decode(digits.utf8) else {
            return nil
        }
        self.init(algorithm, bytes)
    }

    /// Its algorithm and its digits: `sha-256=…`.
    package var hexadecimal: String { "\(algorithm.rawValue)=\(Hexadecimal.text(bytes))" }
}
