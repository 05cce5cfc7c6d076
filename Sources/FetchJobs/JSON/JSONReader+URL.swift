import FetchEngine

extension JSONReader {
    /// An http or https URL without user name and password; what may be reached is the guard's word, asked elsewhere.
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

    /// The same of a text that was made of what is read here.
    func jobURL(_ text: String) -> URLRecord? {
        guard let url = target(text) else { return nil }
        guard url.isHTTP || OptionalSchemes.names.contains(url.scheme) else {
            refuse("must be an http, https, ftp, ftps, data or file URL (schemeForbidden)")
            return nil
        }
        return url
    }

    private func target(_ text: String) -> URLRecord? {
        do throws(TargetRefusal) { return try TargetGuard(policy: .unrestricted).target(text) } catch {
            refuse("\(error.message) (\(error.code))")
            return nil
        }
    }
}
