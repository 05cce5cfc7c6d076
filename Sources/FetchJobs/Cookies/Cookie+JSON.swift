package import FetchEngine

// Cookies as clients of the API read and write them.
extension Cookie {
    private static let members: Set = [
        "name", "value", "domain", "isHostOnly", "path", "expiresDate", "isSecure", "isHTTPOnly", "sameSite",
        "partition",
    ]

    /// Reads a cookie that a client sets, and reports errors to the check.
    package init?(reader: JSONReader) {
        guard let object = reader.object(of: Self.members) else { return nil }
        let name = object.required("name")?.string(maximumLength: 4096)
        let value = object.required("value")?.string(maximumLength: 4096)
        let domain = object.required("domain")?.string(maximumLength: 1024)
        let isHostOnly = object["isHostOnly"].map { $0.bool() } ?? true
        let path = object["path"].map { $0.string(maximumLength: 1024) } ?? "/"
        let expires = object["expiresDate"].map { $0.timestamp() }
        let sameSite = object["sameSite"].map { $0.oneOf(SameSite.self) }
        let partition = object["partition"].map { $0.string(maximumLength: 1024) }
        guard let name, let value, let domain, let isHostOnly, let path else { return nil }
        do throws(CookieRejection) {
            try self.init(
                name: name, value: value, domain: Self.domain(domain, isHostOnly: isHostOnly), path: path,
                expires: expires.flatMap { $0 }.map { UnixTime(microseconds: $0.microseconds) },
                isSecure: object["isSecure"]?.bool() ?? false, isHTTPOnly: object["isHTTPOnly"]?.bool() ?? false,
                sameSite: sameSite.flatMap { $0 }, partition: partition.flatMap { $0 })
        } catch {
            reader.refuse("\(error.message) (\(error.rawValue))")
            return nil
        }
    }

    /// The engine marks domains that reach the hosts below them with a dot.
    private static func domain(_ domain: String, isHostOnly: Bool) -> String {
        guard !isHostOnly else { return domain }
        return domain.hasPrefix(".") ? domain : "." + domain
    }

    /// Writes the cookie, its value included.
    package func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("value", value)
        writer.member("domain", domain)
        writer.member("isHostOnly", isHostOnly)
        writer.member("path", path)
        writer.member("expiresDate", expires.map { Timestamp(microseconds: $0.microseconds).description })
        writer.member("isSecure", isSecure)
        writer.member("isHTTPOnly", isHTTPOnly)
        writer.member("sameSite", sameSite?.rawValue)
        writer.member("partition", partition)
        writer.member("createdAt", Timestamp(microseconds: creationTime.microseconds).description)
    }
}
