/// A scheme for which the URL standard has parsing rules of its own.
enum SpecialScheme {
    case http
    case https
    case ws
    case wss
    case ftp
    case file

    init?(_ scheme: String) {
        switch scheme {
        case "http": self = .http
        case "https": self = .https
        case "ws": self = .ws
        case "wss": self = .wss
        case "ftp": self = .ftp
        case "file": self = .file
        default: return nil
        }
    }

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
