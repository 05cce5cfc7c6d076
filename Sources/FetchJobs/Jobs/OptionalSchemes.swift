package import FetchEngine

/// The schemes that jobs may load besides http and https, as far as the operator lets them.
package struct OptionalSchemes: Sendable {
    package static let names: Set = ["data", "file", "ftp", "ftps"]

    package var allowsData = true
    /// Files of the tenant's own folder in the data directory.
    package var allowsFile = false
    /// ftp and ftps, under the same rules for addresses as http.
    package var allowsFTP = false

    package init() {}

    /// The schemes that are loaded here, in the order of asking.
    package var loaded: [String] {
        ["http", "https"] + (allowsFTP ? ["ftp", "ftps"] : []) + (allowsData ? ["data"] : [])
            + (allowsFile ? ["file"] : [])
    }

    /// Refuses a URL that is not loaded here.
    package func check(_ url: URLRecord, at pointer: String = "/request/url") throws(InvalidInput) {
        guard url.isHTTP || Self.names.contains(url.scheme) else {
            let message = "must be an http, https, ftp, ftps, data or file URL, or one of a protocol that is registered"
            throw InvalidInput(pointer: pointer, message: "\(message) (schemeForbidden)")
        }
        let setting: String
        switch url.scheme {
        case "data" where !allowsData: setting = "SCHEMES_DATA"
        case "file" where !allowsFile: setting = "SCHEMES_FILE"
        case "ftp" where !allowsFTP, "ftps" where !allowsFTP: setting = "SCHEMES_FTP"
        default: return
        }
        let message = "is a \(url.scheme) URL, which this service does not load unless its operator sets \(setting)"
        throw InvalidInput(pointer: pointer, message: "\(message) (schemeForbidden)")
    }
}
