package import FetchEngine
package import HTTPTypes

/// The request of a job, as its client wrote it.
package struct JobRequest: Sendable, Equatable {
    package var url: URLRecord
    /// The URL as its client wrote it, where the standard form is another text (RED-7); nil too where that text has
    /// what is secret.
    package private(set) var writtenURL: String?
    /// Where the same file is too: see ``attempt(after:)``.
    package private(set) var mirrors: [URLRecord] = []
    package var method: HTTPRequest.Method = .get
    /// In the client's order, repeats kept; sensitive fields are marked.
    package var headers = HTTPFields()
    /// Header fields that are made for each attempt, and go in place of those of ``headers`` with their names.
    package var attemptHeaders: [AttemptField] = []
    package var body: JobBody?
    /// Which stored answers may be used; nil leaves it to the session.
    package var cachePolicy: CachePolicy?
    /// The document that the resource is part of, for the cookie policy.
    package var mainDocumentURL: URLRecord?
    /// The properties for the protocol of the URL, where an operator has registered one; an object (PRT-6).
    package var properties: JSONValue?
    /// The parts besides sensitive fields that are sealed where the job is stored, and never shown again.
    package var sensitive: Set<SensitivePart> = []
    /// What is stored and shown in place of sensitive fields and a sensitive body.
    package var redaction = Redaction.Form.text

    /// A part of requests that is a secret where its client marks it.
    package enum SensitivePart: String, Sendable, CaseIterable {
        case query
        case body
    }

    package init(url: URLRecord, mirrors: [URLRecord] = []) {
        self.url = url
        self.mirrors = mirrors
    }

    /// Gives it other URLs, the first of which is its own.
    package mutating func setURLs(_ urls: [URLRecord]) {
        guard let first = urls.first else { return }
        if first != url { (url, writtenURL) = (first, nil) }
        mirrors = Array(urls.dropFirst())
    }

    /// Whether sending it twice does no more than sending it once (RFC 9110 §9.2.2).
    ///
    /// A method that we do not know counts as one that does, unless the client has given the server a key to tell
    /// repeats by.
    package var isIdempotent: Bool {
        Self.isIdempotent(method) || headers[Self.keyField] != nil
    }

    /// Whether a request with this method has the same effect when it is sent twice, as far as we know.
    package static func isIdempotent(_ method: HTTPRequest.Method) -> Bool {
        switch method {
        case .get, .head, .put, .delete, .options: true
        default: false
        }
    }

    private static let keyField = HTTPField.Name(constant: "Idempotency-Key")
}

extension JobRequest {
    /// Fields that belong to the engine: a client that could set them could make two requests out of one (SEC-27).
    static let engineFields: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
    ]
    private static let names: Set = [
        "url", "writtenURL", "mirrors", "urlTemplate", "variables", "method", "headers", "attemptHeaders", "body",
        "cachePolicy",
        "mainDocumentURL", "sensitive", "redaction", "properties",
    ]

    /// - Parameter userInfo: Is given the user name and password of the URL, which the request does not keep.
    init?(reader: JSONReader, userInfo: inout Credential?) {
        // A URL alone stands for the request that has nothing else, and its errors have that place.
        let isURL = if case .string = reader.value { true } else { false }
        let alone = JSONReader(reader.value, pointer: reader.pointer + "/url", check: reader.check)
        let object = isURL ? nil : reader.object(of: Self.names)
        let url = isURL ? alone.jobURL() : object.flatMap { Self.url($0) }
        mirrors = object?["mirrors"].map { Self.mirrors($0) } ?? []
        method = object?["method"].flatMap { Self.method($0) } ?? .get
        headers = object?["headers"].map { Self.headers($0) } ?? HTTPFields()
        attemptHeaders =
            object?["attemptHeaders"]?.array(maximum: AttemptField.maximumCount)?
            .compactMap { AttemptField(reader: $0) } ?? []
        body = object?["body"].flatMap { JobBody(reader: $0) }
        if let body, body.isElsewhere, attemptHeaders.contains(where: { $0.content == .signature }) {
            object?["attemptHeaders"]?.refuse("must have no signature of a body that is a stream, or has blobs")
        }
        if !mirrors.isEmpty, method != .get || body != nil {
            object?["mirrors"]?.refuse("must be left out of a request that is not GET, or has a body")
        }
        cachePolicy = object?["cachePolicy"]?.oneOf(CachePolicy.self)
        mainDocumentURL = object?["mainDocumentURL"]?.httpURL()
        properties = object?["properties"].flatMap { Self.properties($0) }
        sensitive = object?["sensitive"].flatMap { Self.sensitive($0) } ?? []
        redaction = object?["redaction"]?.oneOf(Redaction.Form.self) ?? .text
        if sensitive.contains(.body), let body, body.isElsewhere {
            object?["sensitive"]?.refuse("must not name a body that is a stream, or has blobs: they are not in the job")
        }
        guard let url else { return nil }
        self.url = url.withoutCredentials()
        guard url.hasCredentials else {
            writtenURL = Self.written(isURL ? reader : object?["url"], object?["writtenURL"], as: url, sensitive)
            return
        }
        userInfo = Credential(userinfoOf: url)
        if userInfo == nil { (isURL ? alone : object?["url"])?.refuse("has a user name or password that is not UTF-8") }
    }

    /// The text of a URL that its standard form does not have.
    ///
    /// - Parameters:
    ///   - reader: The URL as it is given.
    ///   - told: The same as it was written, where that is given besides; another URL counts for nothing.
    private static func written(
        _ reader: JSONReader?, _ told: JSONReader?, as url: URLRecord, _ sensitive: Set<SensitivePart>
    ) -> String? {
        let isSame = told?.jobURL().map { $0 == url } ?? false
        guard url.isHTTP, !sensitive.contains(.query), case .string(let text)? = (isSame ? told : reader)?.value
        else { return nil }
        // What misleads who reads it is shown in the standard form alone (SEC-47).
        if text.isSame(as: url.description) { return nil }
        return text.unicodeScalars.allSatisfy { !$0.isControlOrBidirectional } ? text : nil
    }

    package static let maximumProperties = 32
    package static let maximumPropertiesBytes = 16 * 1024

    private static func properties(_ reader: JSONReader) -> JSONValue? {
        guard let members = reader.dictionary() else { return nil }
        if members.count > maximumProperties { reader.refuse("has more than \(maximumProperties) properties") }
        for (name, member) in members where !(1...64).contains(name.utf8.count) {
            member.refuse("must have a name of 1 to 64 bytes")
        }
        var writer = JSONWriter()
        writer.value(reader.value)
        if writer.bytes.count > maximumPropertiesBytes {
            reader.refuse("holds more than \(maximumPropertiesBytes) bytes of JSON")
        }
        return reader.value
    }

    static func method(_ reader: JSONReader) -> HTTPRequest.Method? {
        guard let text = reader.string(maximumLength: 32) else { return nil }
        guard let method = HTTPRequest.Method(text), !["CONNECT", "TRACE", "TRACK"].contains(text) else {
            reader.refuse("must be a token (RFC 9110 §9.1) other than CONNECT, TRACE and TRACK (methodInvalid)")
            return nil
        }
        return method
    }

    /// Header fields as a list of `{"name", "value"}` objects, or as an object of names and values.
    static func headers(_ reader: JSONReader) -> HTTPFields { reader.fieldsInEitherForm { field($0) } }

    private static func sensitive(_ reader: JSONReader) -> Set<SensitivePart>? {
        reader.array(maximum: SensitivePart.allCases.count).map { Set($0.compactMap { $0.oneOf(SensitivePart.self) }) }
    }

    private static let namesOfField = JSONReader.namesOfField.union(["sensitive"])

    private static func field(_ reader: JSONReader) -> HTTPField? {
        guard let (field, object) = reader.field(of: namesOfField) else { return nil }
        let name = field.name.canonicalName
        guard !engineFields.contains(name), !name.hasPrefix("proxy-") else {
            object["name"]?.refuse("belongs to the engine and cannot be set (headerForbidden)")
            return nil
        }
        return isSensitive(object["sensitive"], field.name) ? field.markedSensitive : field
    }

    private static func isSensitive(_ reader: JSONReader?, _ name: HTTPField.Name) -> Bool {
        guard let isMarked = reader?.bool() else { return name.isOfCredential }
        if name.isOfCredential, !isMarked { reader?.refuse("must be true: a field of this name carries credentials") }
        return isMarked
    }
}

extension JSONWriter {
    /// Header fields as `{"name", "value"}` pairs, in order.
    package mutating func headers(_ fields: HTTPFields) {
        for field in fields {
            object { writer in
                writer.member("name", field.name.rawName)
                writer.member("value", field.text)
            }
        }
    }
}

extension HTTPField {
    /// Writes the field of a request.
    func write(_ writer: inout JSONWriter, _ form: SecretForm, _ redaction: Redaction.Form = .text) {
        writer.object { writer in
            writer.member("name", name.rawName)
            writer.member("value", isSensitive && form == .redacted ? redaction.text(for: text) : text)
            if isSensitive { writer.member("sensitive", true) }
        }
    }

    /// The value as UTF-8 where it is that, else as ISO 8859-1, which all bytes are (RFC 9110 §5.5).
    var text: String {
        withUnsafeBytesOfValue { bytes in
            do { return String(copying: try UTF8Span(validating: bytes.span)) } catch {
                return String(decoding: bytes.map { UInt16($0) }, as: UTF16.self)
            }
        }
    }
}
