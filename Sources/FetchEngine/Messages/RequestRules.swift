import HTTPTypes

/// The rules for a request, checked before a byte of it is sent.
enum RequestRules {
    /// Checks method, header fields and scheme.
    ///
    /// - Parameter schemes: The schemes that may be loaded.
    /// - Throws: `methodInvalid`, `headerForbidden`, `headerInvalid` or `unsupportedURL`.
    static func check(_ request: Request, schemes: Set<String>) throws(LoadError) {
        guard request.url.isHTTP || request.url.isFTP, schemes.contains(request.url.scheme), request.url.namesHost
        else {
            throw LoadError(.unsupportedURL, "URLs of this scheme, or without a host, are not loaded.")
        }
        guard !request.assumesHTTP3Capable else {
            throw LoadError(.unsupportedURL, "The transport has no HTTP/3.")
        }
        let method = request.method.rawValue
        guard request.url.isHTTP || ftpMethods.contains(method) else {
            throw LoadError(.methodInvalid, "With FTP a file is got or put.")
        }
        guard request.method == .get || isAllowed(method) else {
            throw LoadError(.methodInvalid, "The method is not allowed.")
        }
        for field in request.headerFields { try check(field) }
    }

    /// Checks what a background session may load: http and https, with a body that outlives the program (BKG-4).
    ///
    /// - Throws: `unsupportedURL`.
    static func checkInBackground(_ request: Request) throws(LoadError) {
        guard request.url.isHTTP else {
            throw LoadError(.unsupportedURL, "A background session loads http and https only.")
        }
        guard request.body?.isOfFiles ?? true else {
            throw LoadError(.unsupportedURL, "A background session sends files only.")
        }
    }

    private static func isAllowed(_ method: String) -> Bool {
        (1...32).contains(method.utf8.count) && !forbiddenMethods.contains(method.uppercased())
    }

    private static func check(_ field: HTTPField) throws(LoadError) {
        let name = field.name.canonicalName
        guard name != "expect" || field.value.lowercased() == "100-continue" else {
            throw LoadError(.headerForbidden, "Of expectations there is only 100-continue.")
        }
        guard !forbiddenFields.contains(name), !name.hasPrefix("proxy-"), !name.hasPrefix(":") else {
            throw LoadError(.headerForbidden, "The header field \(name) belongs to the engine.")
        }
        // swift-http-types turns CR, LF and NUL of a string into spaces, but keeps some controls of raw bytes.
        let isClean = field.withUnsafeBytesOfValue { $0.allSatisfy(\.isAllowedInFieldValue) }
        guard isClean else { throw LoadError(.headerInvalid, "The header field \(name) has a control character.") }
    }

    private static let ftpMethods: Set<String> = ["GET", "HEAD", "PUT", "POST"]

    private static let forbiddenMethods: Set<String> = ["CONNECT", "TRACE", "TRACK"]

    /// A list: so few short names are compared sooner than hashed.
    private static let forbiddenFields = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer",
    ]
}
