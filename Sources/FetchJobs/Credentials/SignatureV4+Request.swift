package import FetchEngine
import HTTPTypes

extension SignatureV4 {
    /// Makes a signature with a credential; nil when it is of another kind.
    package init?(_ credential: Credential) {
        guard let keys = credential.awsKeys else { return nil }
        self.init(
            credentials: Credentials(
                accessKeyID: credential.user, secretAccessKey: keys.secretAccessKey, sessionToken: keys.sessionToken),
            region: keys.region,
            service: keys.service
        )
    }

    /// Signs a request with fields that name its author; it must not be changed afterwards.
    ///
    /// - Parameter digest: The SHA-256 of the body, when it is known.
    /// - Throws: `userAuthenticationRequired` when the body is not in memory, its digest is not known, and the service is
    ///   not S3, which alone takes one that is not signed.
    package func sign(_ request: inout Request, at time: Timestamp, digest: [UInt8]? = nil) throws(LoadError) {
        let payload = if let digest { Hexadecimal.text(digest) } else { try payload(of: request) }
        let date = Self.date(time)
        request.headerFields[.amzDate] = date
        request.headerFields[.amzSecurityToken] = credentials.sessionToken
        if service == "s3" { request.headerFields[.amzContentSHA256] = payload }
        let signed = request.headerFields.filter { field in
            field.name == .contentType || field.name.canonicalName.hasPrefix("x-amz-")
        }
        let message = Message(
            method: request.method.rawValue,
            path: canonicalPath(request.url.path),
            query: try Self.query(of: request.url),
            headers: [("host", request.url.authority)] + signed.map { ($0.name.canonicalName, $0.value) },
            payload: payload
        )
        request.headerFields[.authorization] = authorization(for: message, date: date)
    }

    /// A URL that whoever has it may GET for some time, from a store that speaks S3.
    package func presigned(_ url: URLRecord, at time: Timestamp, for seconds: Int) throws -> URLRecord {
        let message = Message(
            method: "GET", path: canonicalPath(url.path), query: try Self.query(of: url),
            headers: [("host", url.authority)], payload: "UNSIGNED-PAYLOAD")
        let query = signedQuery(of: message, date: Self.date(time), seconds: seconds)
            .map { "\(PercentCodec.component($0.name))=\(PercentCodec.component($0.value))" }
        return try URLRecord("\(url.description.prefix { $0 != "?" })?\(query.joined(separator: "&"))")
    }

    private func payload(of request: Request) throws(LoadError) -> String {
        switch request.body {
        case nil: return Self.hash([])
        case .bytes(let bytes) where request.bodyCoding == nil: return Self.hash(bytes)
        // What is sent of a body in a coding is made while it is sent.
        case .bytes, .file, .segments, .stream:
            guard service == "s3" else {
                throw LoadError(.userAuthenticationRequired, "A body of this form can be signed for S3 alone.")
            }
            return "UNSIGNED-PAYLOAD"
        }
    }

    /// The path with each segment encoded in the one way there is: once for S3, and twice for all others.
    private func canonicalPath(_ path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            // A segment that cannot be decoded is taken as plain text.
            let plain = (try? PercentCodec.decode(String(segment))) ?? String(segment)
            let once = PercentCodec.component(plain)
            return service == "s3" ? once : PercentCodec.component(once)
        }.joined(separator: "/")
    }

    private static func query(of url: URLRecord) throws(LoadError) -> [(name: String, value: String)] {
        do throws(URLRecord.Failure) {
            return try url.queryItems.map { ($0.name, $0.value ?? "") }
        } catch {
            throw LoadError(.badURL, "The query of the URL cannot be read, and so not signed.")
        }
    }
}

extension URLRecord {
    /// Host and port, the latter where it is not the scheme's own.
    fileprivate var authority: String { (host ?? "") + (port.map { ":\($0)" } ?? "") }
}

extension HTTPField.Name {
    fileprivate static let amzDate = Self(constant: "x-amz-date")
    fileprivate static let amzContentSHA256 = Self(constant: "x-amz-content-sha256")
    fileprivate static let amzSecurityToken = Self(constant: "x-amz-security-token")
}
