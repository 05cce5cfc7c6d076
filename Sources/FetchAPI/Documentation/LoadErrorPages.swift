import FetchJobs

/// A load error and its page.
struct LoadErrorPages: Sendable {
    let name: String
    let number: Int
    let isTransient: Bool

    var path: String { "/docs/errors/\(name)" }

    /// In the order of their names.
    static let all = LoadErrorKind.all.map { Self(name: $0.name, number: $0.number, isTransient: $0.isTransient) }
        .sorted { $0.name < $1.name }

    /// Whether such a load is tried again, in words.
    var hint: String { isTransient ? "tried again as retry says" : "not tried again by itself" }

    /// What `error` of a job that failed so looks like.
    var example: String {
        """
        {
          "state": "failed",
          "error": {
            "domain": "NSURLErrorDomain",
            "code": \(number),
            "name": "\(name)",
            "message": "…",
            "retriable": \(isTransient)
          }
        }
        """
    }
}
