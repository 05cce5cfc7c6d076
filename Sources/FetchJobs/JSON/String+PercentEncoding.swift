import Foundation

extension String {
    /// Everything as `%XX` but ASCII letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §2.3).
    ///
    /// So it fits into a query, and into an extended parameter of a field as well (RFC 8187 §3.2.1).
    package var percentEncoded: String {
        // It is nil for no string that there is.
        addingPercentEncoding(withAllowedCharacters: .unreserved) ?? ""
    }
}

extension CharacterSet {
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}
