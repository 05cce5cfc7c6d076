import HTTPTypes

/// A form with files (`multipart/form-data`, RFC 7578), whose files are read while they are sent.
///
/// ```swift
/// var form = MultipartForm()
/// form.append("title", "Holiday")
/// form.append("picture", file: "/home/ada/beach.jpg")
/// var request = Request(url: url, method: .post)
/// request.setForm(form)
/// ```
public struct MultipartForm: Sendable {
    /// The text between the parts.
    public let boundary: String
    private var segments: [RequestBody.Segment] = []

    /// Makes an empty form.
    ///
    /// - Parameter boundary: 1 to 70 letters, digits and hyphens that no part contains. By default, and in place of
    ///   one that is no such text, it is random.
    public init(boundary: String? = nil) {
        let isUsable = boundary.map { boundary in
            (1...70).contains(boundary.utf8.count)
                && boundary.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
        }
        self.boundary = isUsable == true ? boundary ?? "" : Self.randomBoundary()
    }

    /// Adds a field.
    public mutating func append(_ name: String, _ value: String) {
        append(head: Self.disposition(name), .bytes(Array(value.utf8)))
    }

    /// Adds a file from memory.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - content: The file's content.
    ///   - filename: The file's name.
    ///   - contentType: Its media type; by default that of the extension of the name, else `application/octet-stream`.
    public mutating func append(
        _ name: String, content: [UInt8], filename: String, contentType: String? = nil
    ) {
        append(head: Self.fileHead(name, filename, contentType), .bytes(content))
    }

    /// Adds a file, which is opened when the request is sent and must not change its length before it has been.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - path: Where the file is.
    ///   - filename: The file's name; by default the last component of the path.
    ///   - contentType: Its media type; by default that of the extension of the name, else `application/octet-stream`.
    public mutating func append(
        _ name: String, file path: String, filename: String? = nil, contentType: String? = nil
    ) {
        let filename = filename ?? path.split(separator: "/").last.map(String.init) ?? "file"
        append(head: Self.fileHead(name, filename, contentType), .file(path: path))
    }

    /// The form as the content of a request.
    public var body: RequestBody {
        .segments(segments + [.bytes(Array("--\(boundary)--\r\n".utf8))])
    }

    /// The value of the `Content-Type` field that goes with ``body``.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    private mutating func append(head: String, _ content: RequestBody.Segment) {
        let start = Array("--\(boundary)\r\n\(head)\r\n\r\n".utf8)
        segments += [.bytes(start), content, .bytes([0x0D, 0x0A])]
    }

    private static func disposition(_ name: String) -> String {
        "Content-Disposition: form-data; name=\"\(escaped(name))\""
    }

    private static func fileHead(_ name: String, _ filename: String, _ contentType: String?) -> String {
        let type = contentType ?? FileExtension.mediaType(ofPath: filename) ?? "application/octet-stream"
        let clean = type.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return """
            \(disposition(name)); filename="\(escaped(filename))"\r
            Content-Type: \(String(String.UnicodeScalarView(clean)))
            """
    }

    /// A name between quotes, as the HTML standard escapes it.
    private static func escaped(_ name: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": text.append(contentsOf: "%22".unicodeScalars)
            case "\r": text.append(contentsOf: "%0D".unicodeScalars)
            case "\n": text.append(contentsOf: "%0A".unicodeScalars)
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    /// 128 random bits in hexadecimal: no content has them by chance.
    private static func randomBoundary() -> String {
        var random = SystemRandomNumberGenerator()
        return "form-" + String(random.next() as UInt64, radix: 36) + String(random.next() as UInt64, radix: 36)
    }
}

extension Request {
    /// Makes a form with files the content of the request, and sets `Content-Type`.
    ///
    /// The method stays as it is.
    public mutating func setForm(_ form: MultipartForm) {
        body = form.body
        headerFields[.contentType] = form.contentType
    }
}
