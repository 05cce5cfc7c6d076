import FetchJobs

/// Where a page of hosts or flows begins.
struct LimiterCursor {
    let key: String

    init(after limiter: Limiter) { key = limiter.address.key }

    init(_ text: String) throws(Problem) {
        guard let key = OpaqueText.read(text), OpaqueText.write(key) == text, !key.isEmpty, !key.contains("\0") else {
            throw Problem(parameter: "cursor", "is not one that this list gave out")
        }
        self.key = key
    }

    var text: String { OpaqueText.write(key) }
}
