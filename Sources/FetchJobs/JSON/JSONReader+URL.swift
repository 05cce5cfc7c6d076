import FetchEngine

extension JSONReader {
    /// An http or https URL without user name and password; the guard judges elsewhere whether it may be reached.
    ///
    /// - Parameter userInfoCode: The stable code to name when user name or password are there, if any.
    func httpURL(userInfoCode: String? = nil) -> URLRecord? {
        guard let url = httpURLWithUserInfo() else { return nil }
        guard !url.hasCredentials else {
            refuse("must not hold a user name or password" + (userInfoCode.map { " (\($0))" } ?? ""))
            return nil
        }
        return url
    }

    /// An http or https URL that may hold a user name and password.
    func httpURLWithUserInfo() -> URLRecord? {
        guard let text = string(maximumLength: 16_384), let url = target(text) else { return nil }
        guard url.isHTTP else {
            refuse("must be an http or https URL (schemeForbidden)")
            return nil
        }
        return url
    }

    /// A URL that a job may have; whether this service loads its scheme is asked elsewhere.
    func jobURL() -> URLRecord? {
        string(maximumLength: 16_384).flatMap { jobURL($0) }
    }

    /// The same for a text that was made of values read here.
    func jobURL(_ text: String) -> URLRecord? { target(text) }

    /// The one way from text of clients to a URL that is loaded, now or later; its target is judged when it is loaded.
    private func target(_ text: String) -> URLRecord? {
        // URLs that are not dialled have rules of their own, and may have spaces.
        if text.hasScheme("data:") || text.hasScheme("file:") { return unjudged(text) }
        do throws(TargetRefusal) { return try TargetGuard.strictTarget(text, schemes: Self.dialled) } catch {
            // The callers say which schemes they take.
            if error.code == .schemeForbidden { return unjudged(text) }
            refuse("\(error.message) (\(error.code))")
            return nil
        }
    }

    private static let dialled: Set = ["http", "https", "ftp", "ftps"]

    private func unjudged(_ text: String) -> URLRecord? {
        do throws(URLRecord.Failure) { return try URLRecord(text) } catch {
            refuse("\(error.message) (\(TargetRefusal.Code.urlInvalid))")
            return nil
        }
    }
}

extension String {
    /// Whether the text begins with these letters, in either case, and the colon.
    fileprivate func hasScheme(_ scheme: StaticString) -> Bool {
        scheme.withUTF8Buffer { utf8.prefix($0.count).elementsEqual($0) { $0.asciiLowercased == $1 } }
    }
}
