import FetchJobs
import HTTPTypes

/// The `Host` field of requests (RFC 9112 §3.2).
///
/// Who reads another one than we do would be led astray: a proxy before us, its cache, the dashboard's gate.
enum HostField {
    private static let name = HTTPField.Name(constant: "Host")

    /// Whether a request has exactly one `Host` field, with a host and optionally a port.
    ///
    /// - Parameter mayLack: HTTP/1.0 has none; probes that only check whether we live may use that version.
    static func isSound(in request: HTTPRequest, mayLack: Bool) -> Bool {
        // The first is the authority, of which others are left.
        guard !request.headerFields.contains(name) else { return false }
        return request.authority.map { isSound($0[...].utf8) } ?? mayLack
    }

    /// `uri-host [ ":" port ]` (RFC 3986 §3.2.2).
    private static func isSound(_ text: Substring.UTF8View) -> Bool {
        let isAddress = text.first == UInt8(ascii: "[")
        guard let end = isAddress ? text.firstIndex(of: UInt8(ascii: "]")) : hostEnd(of: text) else { return false }
        let host = isAddress ? text[..<end].dropFirst() : text[..<end]
        let isSound = isAddress ? !host.isEmpty && host.allSatisfy(isOfAddress) : host.allSatisfy(isOfName)
        guard isSound else { return false }
        let rest = isAddress ? text[end...].dropFirst() : text[end...]
        guard let colon = rest.first else { return true }
        return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(isDigit)
    }

    private static func hostEnd(of text: Substring.UTF8View) -> Substring.UTF8View.Index? {
        text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20) || ":.".utf8.contains(byte)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLetter(byte) || "-._~%!$&'()*+,;=".utf8.contains(byte)
    }
}
