/// A scheme for which the URL standard has parsing rules of its own.
enum SpecialScheme: String {
    case http
    case https
    case ws
    case wss
    case ftp
    case file

    init?(_ scheme: String) { self.init(rawValue: scheme) }

    /// The port that is left out of a serialized URL.
    var defaultPort: UInt16? {
        switch self {
        case .http, .ws: 80
        case .https, .wss: 443
        case .ftp: 21
        case .file: nil
        }
    }
}
