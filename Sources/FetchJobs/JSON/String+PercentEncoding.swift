import FetchEngine

extension StringProtocol {
    /// Everything as `%XX` but ASCII letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §2.3).
    ///
    /// So it fits into a query, and into an extended parameter of a field as well (RFC 8187 §3.2.1).
    package var percentEncoded: String { PercentCodec.component(String(self)) }

    /// With a byte in the place of each `%XX`; nil where a percent sign has no two hexadecimal digits behind it, or where
    /// the bytes are not UTF-8.
    package var percentDecoded: String? { try? PercentCodec.decode(String(self)) }
}
