import FetchJobs

/// The beginning of a response body, in the form that fits its type: never as markup.
enum BodyPreview {
    /// Text, which may be cut, and what is to be said of it.
    case text(String, note: String?)
    /// The page lets the browser load it, from the service alone.
    case image
    /// Offsets, values and ASCII characters of bytes.
    case bytes(String)

    /// How much of a body is read.
    static let maximumBytes = 16_384
    static let maximumImageBytes: Int64 = 4 << 20
    private static let maximumLines = 32
    private static let lineBytes = 16
    /// Formats of pixels alone: no browser runs anything of them.
    private static let imageTypes: Set = ["image/png", "image/jpeg", "image/gif", "image/webp"]

    static func isImage(_ body: StoredBody) -> Bool {
        let type = body.contentType?.prefix { $0 != ";" && $0 != " " }.lowercased() ?? ""
        return imageTypes.contains(type)
    }

    /// - Parameter bytes: The beginning of the body, or all of it.
    init(of bytes: [UInt8], in body: StoredBody) {
        let isWhole = body.bytes <= Int64(Self.maximumBytes)
        if isWhole, body.contentType?.contains("json") == true, let json = try? JSONParser.parse(bytes) {
            self = .text(IndentedJSON.text(json), note: nil)
        } else if let text = VisibleText.preview(of: bytes, limit: Self.maximumBytes) {
            self = .text(text, note: isWhole ? nil : "The first \(Figure.bytes(Int64(Self.maximumBytes))).")
        } else {
            self = .bytes(Self.dump(bytes))
        }
    }

    private static func dump(_ bytes: [UInt8]) -> String {
        stride(from: 0, to: min(bytes.count, maximumLines * lineBytes), by: lineBytes).map { offset in
            let line = bytes[offset..<min(offset + lineBytes, bytes.count)]
            let values = line.map(hex).joined(separator: " ")
            let gap = String(repeating: " ", count: lineBytes * 3 - values.utf8.count)
            let text = line.map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            return "\(hex(UInt8(offset >> 8)))\(hex(UInt8(offset & 0xFF)))  \(values)\(gap) \(text)"
        }.joined(separator: "\n")
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}
