import FetchEngine
import FetchJobs

/// A URL as it was typed, with what other options add to it.
enum GetTarget {
    /// The URL of a text.
    ///
    /// Without a scheme it is `https`, but `http` for this machine: for `localhost` and loopback addresses.
    static func url(_ text: String) throws(URLRecord.Failure) -> URLRecord {
        guard !text.contains(/^[A-Za-z][A-Za-z0-9+.\-]*:\/\//) else { return try URLRecord(text) }
        let host = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        let isHere = name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" || isLoopback(String(name))
        return try URLRecord((isHere ? "http://" : "https://") + text)
    }

    private static func isLoopback(_ name: String) -> Bool {
        name.hasPrefix("127.") && IPAddress(name) != nil
    }

    /// The URL with a user, whom the engine names to this server alone, and only when it asks.
    ///
    /// - Parameter login: `user:password`, or `user` alone.
    static func url(_ url: URLRecord, for login: String) throws(URLRecord.Failure) -> URLRecord {
        let plain = url.withoutCredentials().description
        guard let start = plain.firstRange(of: "://") else { return url }
        let (user, password) = Self.parts(of: login)
        let credentials = user.percentEncoded + (password.map { ":" + $0.percentEncoded } ?? "")
        return try URLRecord(plain[..<start.upperBound] + credentials + "@" + plain[start.upperBound...])
    }

    /// A user, and the password where there is one.
    static func parts(of login: String) -> (user: String, password: String?) {
        guard let colon = login.firstIndex(of: ":") else { return (login, nil) }
        return (String(login[..<colon]), String(login[login.index(after: colon)...]))
    }

    /// Where a file goes that is put: below a URL that ends with a slash, under its own name.
    static func url(_ url: URLRecord, putting file: String) throws(URLRecord.Failure) -> URLRecord {
        guard url.path.hasSuffix("/"), file != "-", url.query == nil else { return url }
        let name = file.split(separator: "/").last.map { String($0) } ?? ""
        return try URLRecord(url.withoutFragment().description + name.percentEncoded)
    }

    /// The last part of a URL's path, as the name of a file here.
    static func fileName(of url: URLRecord) -> String {
        let last = url.path.split(separator: "/", omittingEmptySubsequences: false).last.map { String($0) } ?? ""
        return BodyDestination.fileName(last.percentDecoded ?? last)
    }
}

/// A size as people write it: `500`, `100k`, `2M`, `1G`, in units of 1024 bytes.
enum SizeText {
    static func bytes(_ text: String) -> Int64? {
        guard let match = text.wholeMatch(of: /(\d{1,15})([kKmMgG]?)/), let number = Int64(match.1) else { return nil }
        let shift: Int64 =
            switch match.2.lowercased() {
            case "k": 10
            case "m": 20
            case "g": 30
            default: 0
            }
        let bytes = number.multipliedReportingOverflow(by: 1 << shift)
        return bytes.overflow || bytes.partialValue < 1 ? nil : bytes.partialValue
    }
}
