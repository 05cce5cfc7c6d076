/// What a provider sends a browser back with (OpenID Connect Core 1.0 §3.1.2.5, RFC 9207).
struct OpenIDAnswer: Sendable {
    enum Outcome: Sendable, Equatable {
        case code(String)
        /// The code of an error; it has the form of one.
        case error(String)
    }

    let state: String
    /// Who says that the answer is his; nil when it does not say.
    let issuer: String?
    let outcome: Outcome

    /// Reads a query; parameters that are not known are left out, as they have to be (RFC 6749 §4.1.2).
    ///
    /// Nil when one is there twice, or the query is no answer.
    init?(_ query: String?) {
        guard let query = try? Query(query ?? ""), let state = query["state"] else { return nil }
        self.state = state
        issuer = query["iss"]
        switch (query["code"], query["error"]) {
        case (let code?, nil) where !code.isEmpty: outcome = .code(code)
        case (nil, let error?): outcome = .error(Self.error(error) ?? "unknown")
        default: return nil
        }
    }

    /// Whether it is one of a provider, as far as it says whose it is.
    func isOf(_ issuer: String, _ metadata: ProviderMetadata) -> Bool {
        guard let named = self.issuer else { return !metadata.answersNameIssuer }
        return named.utf8.elementsEqual(issuer.utf8)
    }

    /// A text with the form of the code of an error (RFC 6749 §4.1.2.1), and not longer than such a one is.
    static func error(_ text: String) -> String? {
        text.isOAuthText && 1...64 ~= text.utf8.count ? text : nil
    }
}

extension String {
    /// Whether it has the characters alone that codes of errors and scopes may have (RFC 6749, appendix A: `NQSCHAR`).
    package var isOAuthText: Bool {
        utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
