/// The content of a request.
///
/// ```swift
/// request.body = .bytes(Array("Hello".utf8))
/// request.body = .file(path: "/srv/report.pdf")
/// request.body = .form([QueryItem("name", "Ada Lovelace")])
/// ```
public enum RequestBody: Sendable {
    /// Bytes in memory, sent with their length and repeated as often as needed.
    case bytes([UInt8])

    /// A file, sent with its length.
    ///
    /// It is opened when each hop starts. A file that shrinks while it is sent fails the load.
    case file(path: String)

    /// Bytes and files one after the other, sent with their length together and repeated as often as needed.
    ///
    /// The files are opened when each hop starts.
    case segments([Segment])

    /// Bytes made while they are sent.
    ///
    /// With a length the message carries `Content-Length`, otherwise it is chunked (HTTP/1.1) or framed (HTTP/2).
    case stream(length: Int64? = nil, any BodyStreamProvider)

    /// A part of a content that is put together from several.
    public enum Segment: Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// A file.
        case file(path: String)
    }

    /// Whether all of it is in files.
    var isOfFiles: Bool {
        switch self {
        case .file: true
        case .segments(let segments): segments.allSatisfy { if case .file = $0 { true } else { false } }
        case .bytes, .stream: false
        }
    }
}

/// Gives the streams of one request body.
public protocol BodyStreamProvider: Sendable {
    /// A stream that starts at the first byte, which the provider's own task then writes.
    ///
    /// Asked once for the first hop and again whenever the body has to be sent anew, after a 307 or 308 redirect
    /// for example. `nil` means that there is none any more: the load fails with `requestBodyStreamExhausted`.
    func makeStream() async -> BodyPipe?
}
