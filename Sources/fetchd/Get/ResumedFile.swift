import FetchEngine
import HTTPTypes

/// A file of which a part is there already, and that the rest is asked for.
struct ResumedFile: Sendable {
    let path: String
    /// How many bytes of it are there.
    let bytes: Int64

    /// - Parameter path: A file, which need not be there.
    init(path: String) {
        self.path = path
        bytes = FileStatus(path: path).flatMap { $0.isRegular ? $0.bytes : nil } ?? 0
    }

    /// What becomes of a response.
    enum Verdict: Equatable {
        /// The rest is appended.
        case append
        /// The server sends all of it, and the file begins anew.
        case startAnew
        /// Nothing is missing.
        case isComplete
        /// The server answers with another part, or with an error.
        case refuse
    }

    /// Asks for the rest alone, as it lies on the server.
    func narrow(_ request: inout Request) {
        guard bytes > 0 else { return }
        request.headerFields[.range] = "bytes=\(bytes)-"
        request.headerFields[.acceptEncoding] = "identity"
    }

    func verdict(_ response: Response) -> Verdict {
        let range = response.headerFields[.contentRange]?.lowercased() ?? ""
        switch response.status.code {
        case 206: return range.hasPrefix("bytes \(bytes)-") && bytes > 0 ? .append : .refuse
        case 200..<300: return .startAnew
        case 416 where bytes > 0 && range == "bytes */\(bytes)": return .isComplete
        default: return .refuse
        }
    }
}
