import HTTPTypes

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3), as it was written.
public struct OfferedChallenge: Sendable, Equatable {
    struct Parameter: Sendable, Equatable {
        /// In lower case.
        var name: String
        /// Without quotes and escapes.
        var value: [UInt8]
    }

    /// The name of the scheme, in lower case.
    public internal(set) var scheme: String
    /// The `token68` that some schemes have in place of parameters.
    public internal(set) var token: [UInt8]?
    var parameters: [Parameter] = []

    /// Makes a challenge, for example in a test of an ``AuthenticationScheme``.
    ///
    /// - Parameters:
    ///   - scheme: The name of the scheme, in lower case.
    ///   - parameters: Their names in lower case, and their values without quotes.
    public init(scheme: String, parameters: [(name: String, value: String)]) {
        self.init(scheme: scheme, parameters: parameters.map { Parameter(name: $0.name, value: Array($0.value.utf8)) })
    }

    init(scheme: String, token: [UInt8]? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = parameters
    }

    /// The first parameter of a name in lower case: none may come twice (RFC 9110 §11.2).
    public subscript(_ name: String) -> [UInt8]? { parameters.first { $0.name == name }?.value }

    /// A parameter as text; bytes that are not UTF-8 are taken for Latin-1.
    public func text(_ name: String) -> String? { self[name].map(Self.text) }

    /// More of a parameter than this no server needs, and all of it would be kept for each space.
    private static let maximumParameter = 1024

    /// Whether all parameters are short, and can be compared at the price of their length.
    var isBounded: Bool {
        parameters.allSatisfy { parameter in
            parameter.value.count <= Self.maximumParameter && Self.text(parameter.value).unicodeScalars.isStreamSafe
        }
    }

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
