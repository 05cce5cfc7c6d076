package import FetchEngine

extension ExpectedDigest {
    /// A digest by the name of its algorithm and its hexadecimal digits; nil for an unknown algorithm and for what are
    /// not its digits.
    package init?(_ name: String, hexadecimal digits: some StringProtocol) {
        guard let algorithm = ContentDigest.allCases.first(where: { $0.name == name }),
            let bytes = Hexadecimal.decode(digits.utf8)
        else { return nil }
        self.init(algorithm, bytes)
    }

    /// Its algorithm and its digits: `sha-256=…`.
    package var hexadecimal: String { "\(algorithm.name)=\(Hexadecimal.text(bytes))" }
}

extension ContentDigest {
    /// As everybody but RFC 9530, which has `sha`, calls it: `md5`, `sha-1`, `sha-256` or `sha-512`.
    fileprivate var name: String { self == .sha1 ? "sha-1" : rawValue }
}
