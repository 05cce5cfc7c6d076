import HTTPTypes

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3), as it was written.
struct OfferedChallenge: Equatable {
    struct Parameter: Equatable {
        /// In lower case.
        var name: String
        /// Without quotes and escapes.
        var value: [UInt8]
    }

    /// In lower case.
    var scheme: String
    var token: [UInt8]?
    var parameters: [Parameter] = []

    /// The first parameter of a name: none may come twice (RFC 9110 §11.2).
    subscript(_ name: String) -> [UInt8]? { parameters.first { $0.name == name }?.value }

    /// A parameter as text; bytes that are not UTF-8 are taken for Latin-1.
    func text(_ name: String) -> String? { self[name].map(Self.text) }

    static func text(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
    }

    /// All challenges of a field that may have come in several lines, in their order.
    static func all(of name: HTTPField.Name, in fields: HTTPFields) -> [OfferedChallenge] {
        var parser = AuthenticationFieldParser()
        for field in fields[fields: name] { parser.read(field.withUnsafeBytesOfValue { Array($0) }) }
        return parser.challenges
    }
}
