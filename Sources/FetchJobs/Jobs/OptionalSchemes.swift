package import FetchEngine

/// The schemes that jobs may load besides http and https, as far as the operator lets them.
package struct OptionalSchemes: Sendable {
    static let names: Set = ["data", "file"]

    package var allowsData = true
    /// Files of the tenant's own folder in the data directory.
    package var allowsFile = false

    package init() {}

    /// Refuses a URL that is not loaded here.
    package func check(_ url: URLRecord) throws(InvalidInput) {
        let setting: String
        switch url.scheme {
        case "data" where !allowsData: setting = "SCHEMES_DATA"
        case "file" where !allowsFile: setting = "SCHEMES_FILE"
        default: return
        }
        let message = "is a \(url.scheme) URL, which this service does not load unless its operator sets \(setting)"
        throw InvalidInput(pointer: "/request/url", message: "\(message) (schemeForbidden)")
    }
}
