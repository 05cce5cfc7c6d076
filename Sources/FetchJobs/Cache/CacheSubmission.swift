package import FetchEngine
import HTTPTypes

/// A response that a client puts into the cache of a session, as if a job had just received it (CCH-18).
package struct CacheSubmission: Sendable {
    package let session: TenantSession.ID
    /// A request that selects the answer: GET, with those fields that the answer's `Vary` names.
    package let request: Request
    package let answer: CachedResponse

    private static let names: Set = [
        "session", "url", "status", "headers", "body", "userInfo", "storagePolicy", "request",
    ]

    /// Reads and checks the body of a request; whether the cache takes as much is asked elsewhere.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: Self.names)
        let session = object?["session"].map { $0.session() } ?? .default
        let url = object?.required("url")?.httpURL()
        let status = object?.required("status").flatMap { Self.status($0) }
        let fields = object?["headers"].map { Self.fields($0, of: url) } ?? HTTPFields()
        let body = object?["body"].flatMap { Self.body($0) } ?? []
        let userInfo = object?["userInfo"].flatMap { ConfigurationRule.texts(upTo: 32).read($0) } ?? [:]
        if let policy = object?["storagePolicy"], let choice = policy.oneOf(CachedResponse.StoragePolicy.self),
            choice != .allowed
        {
            policy.refuse("must be \"allowed\": an answer is put there for all nodes, and memory is that of one")
        }
        let selecting = object?["request"]?.object(of: ["headers"])?["headers"].map { Self.selecting($0) }
        try check.finish()
        guard let url, let status else { throw InvalidInput(pointer: "", message: "is not complete") }
        self.session = session ?? .default
        request = Request(url: url, headerFields: selecting ?? [:])
        let response = Response(
            url: url, status: status, headerFields: fields, expectedContentLength: Int64(body.count))
        answer = CachedResponse(response: response, data: body, userInfo: userInfo)
    }

    /// Partial answers, those that say that nothing has changed, and challenges belong to their exchange (RFC 9111 §3).
    private static func status(_ reader: JSONReader) -> HTTPResponse.Status? {
        guard let code = reader.integer(in: 200...599) else { return nil }
        guard ![206, 304, 401, 407].contains(code) else {
            reader.refuse("is not one that a cache holds: 206, 304, 401 and 407 are refused")
            return nil
        }
        return HTTPResponse.Status(code: Int(code))
    }

    /// The fields of the answer; `Set-Cookie` sets nothing and is not kept.
    private static func fields(_ reader: JSONReader, of url: URLRecord?) -> HTTPFields {
        let fields = reader.fields { $0.field()?.field }
        if fields[values: .vary].contains(where: { $0.contains("*") }) {
            reader.refuse("must not hold Vary: *, which no request selects")
        }
        if let location = fields[.location], let url, (try? url.resolve(location))?.hasCredentials == true {
            reader.refuse("must not hold a Location with a user name or password")
        }
        return fields
    }

    /// The fields that requests must have to be given the answer.
    private static func selecting(_ reader: JSONReader) -> HTTPFields {
        reader.fields { element in
            guard let (field, object) = element.field() else { return nil }
            // The response to a user is stored by the job that got it, with a code in place of the credential.
            guard !field.name.isOfCredential else {
                object["name"]?.refuse("carries credentials: an answer that is put there is nobody's in particular")
                return nil
            }
            return field
        }
    }

    private static func body(_ reader: JSONReader) -> [UInt8]? {
        let forms = ["text", "base64"]
        guard let object = reader.object(of: Set(forms)),
            let (form, member) = JobBody.only(of: forms, in: object, reader)
        else { return nil }
        if form == "base64" { return JobBody.base64(member) }
        return member.text(maximumLength: JobBody.maximumText).map { Array($0.utf8) }
    }
}

/// The result of putting a response into a cache.
package enum CachePutting: Sendable {
    case stored(CachedAnswer)
    /// Its body has more bytes than this, the most that the cache keeps of one.
    case tooLarge(limit: Int64)
}
