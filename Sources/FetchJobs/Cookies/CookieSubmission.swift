package import FetchEngine

/// Cookies that a client sets in a session.
package struct CookieSubmission: Sendable {
    /// How many may be set at once: as many as one domain may have.
    package static let maximumCount = CookieJar.maximumPerDomain

    package let session: TenantSession.ID
    package let cookies: [Cookie]

    /// Reads and checks the body of a request.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["session", "cookies"])
        let session = object?["session"].map { $0.session() } ?? .default
        let elements = object?.required("cookies")?.array(maximum: Self.maximumCount)
        if elements?.isEmpty == true { check.refuse("/cookies", "must hold at least one cookie") }
        cookies = elements?.compactMap { Cookie(reader: $0) } ?? []
        try check.finish()
        self.session = session ?? .default
    }
}

/// Cookies as the file of Netscape that curl, wget and the tools of browsers read and write.
package struct CookieFile: Sendable {
    /// How many cookies a file may bring: as many as a session may have.
    package static let maximumCount = CookieJar.maximumCount

    package let cookies: [Cookie]
    /// The numbers of the lines that hold no cookie, from 1.
    package let rejectedLines: [Int]

    /// Reads a file; any bytes may be given.
    package init(reading bytes: [UInt8]) {
        let file = NetscapeCookieFile(reading: bytes)
        cookies = file.cookies
        rejectedLines = file.rejectedLines
    }

    /// The file that holds these cookies.
    package static func bytes(of cookies: [Cookie]) -> [UInt8] { NetscapeCookieFile(cookies).bytes }
}
