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
        guard let text = string(maximumLength: 16_384) else { return nil }
        do throws(TargetRefusal) {
            let url = try TargetGuard(policy: .unrestricted).target(text)
            guard url.isHTTP else {
                refuse("must be an http or https URL (schemeForbidden)")
                return nil
            }
            return url
        } catch {
            refuse("\(error.message) (\(error.code))")
            return nil
        }
    }
}
