/// The content of a `data:` URL (RFC 2397), read as browsers do (https://fetch.spec.whatwg.org/#data-url-processor).
struct DataURL: Equatable {
    /// `text/plain;charset=US-ASCII` unless the URL has a type that can be read.
    let mediaType: MediaType
    let data: [UInt8]

    /// Reads a URL; its fragment is no part of the data.
    ///
    /// - Throws: `badURL` when there is no comma, or the data are marked as base64 and are not.
    init(_ url: URLRecord) throws(LoadError) {
        let bytes = Array("\(url.withoutFragment())".utf8).dropFirst("data:".utf8.count)
        guard url.scheme == "data", let comma = bytes.firstIndex(of: UInt8(ascii: ",")) else {
            throw LoadError(.badURL, "The data URL has no comma.")
        }
        var type = Self.trimmed(bytes[..<comma])
        var data = percentDecoded(bytes[(comma + 1)...])
        if let rest = Self.withoutBase64(type) {
            guard let decoded = Base64.decode(data) else {
                throw LoadError(.badURL, "The data URL is not valid base64.")
            }
            type = rest
            data = decoded
        }
        self.data = data
        let text = String(decoding: type, as: UTF8.self)
        mediaType =
            MediaType(text.hasPrefix(";") ? "text/plain" + text : text)
            ?? MediaType(essence: "text/plain", charset: "US-ASCII")
    }

    /// The type without its ending `;base64`, or nil when it does not end so.
    private static func withoutBase64(_ type: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard type.suffix(6).elementsEqual("base64".utf8, by: { $0.asciiLowercased == $1 }) else { return nil }
        let rest = type.dropLast(6)
        guard let end = rest.lastIndex(where: { $0 != 0x20 }), rest[end] == UInt8(ascii: ";") else { return nil }
        return rest[..<end]
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B }
        let start = bytes.drop(while: isSpace)
        return start.lastIndex { !isSpace($0) }.map { start[...$0] } ?? []
    }
}
