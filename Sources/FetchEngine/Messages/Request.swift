public import HTTPTypes

/// A URL and the properties of the request for it; the configuration of the session says how to load it.
///
/// ```swift
/// var request = try Request("https://example.org/notes")
/// request.method = .post
/// request.headerFields[.contentType] = "text/plain"
/// request.body = .bytes(Array("Hello".utf8))
/// request.timeoutInterval = .seconds(5)
/// ```
public struct Request: Sendable {
    /// Apart from the request, which every step of a load passes on.
    private var values: Boxed<Values>

    private struct Values: Sendable {
        var url: URLRecord
        var method: HTTPRequest.Method
        var headerFields: HTTPFields
        var body: RequestBody?
        var bodyCoding: BodyCoding?
        var assumesHTTP3Capable = false
        var timeoutInterval: Duration?
        var cachePolicy: CachePolicy
        var mainDocumentURL: URLRecord?
        var httpShouldHandleCookies = true
        var properties = Properties()
        var bodyOffset: Int64 = 0
        var accepted = AcceptedOptions()
        var writtenURL: String?
    }

    /// The URL.
    ///
    /// Its fragment stays here; its user name and password are never sent as part of it.
    public var url: URLRecord {
        get { values.value.url }
        set {
            values.value.url = newValue
            values.value.writtenURL = nil
        }
    }

    /// The method; case-sensitive.
    ///
    /// `GET` by default.
    public var method: HTTPRequest.Method {
        get { values.value.method }
        set { values.value.method = newValue }
    }

    /// The header fields, sent in this order with repeats kept.
    ///
    /// Fields that frame the message (`Host`, `Content-Length`, `Connection` and their like) belong to the engine:
    /// a load that sets one fails with `headerForbidden`.
    public var headerFields: HTTPFields {
        get { values.value.headerFields }
        _modify { yield &values.value.headerFields }
    }

    /// The content to send; none by default.
    public var body: RequestBody? {
        get { values.value.body }
        set { values.value.body = newValue }
    }

    /// The content coding that the body is sent in, `Content-Encoding` included; `nil`, the default, is as it is.
    ///
    /// It is compressed while it is sent, so its length is not known before: the message is chunked (HTTP/1.1) or
    /// framed (HTTP/2). Only for http and https.
    public var bodyCoding: BodyCoding? {
        get { values.value.bodyCoding }
        set { values.value.bodyCoding = newValue }
    }

    /// Whether to try HTTP/3 at once; false.
    ///
    /// libcurl has no HTTP/3 here: true fails the load with `unsupportedURL` before a byte is sent.
    public var assumesHTTP3Capable: Bool {
        get { values.value.assumesHTTP3Capable }
        set { values.value.assumesHTTP3Capable = newValue }
    }

    /// How long no byte may move either way; `nil` takes the session's interval.
    public var timeoutInterval: Duration? {
        get { values.value.timeoutInterval }
        set { values.value.timeoutInterval = newValue }
    }

    /// Which cached answers may be used; by default those that the session's policy allows.
    public var cachePolicy: CachePolicy {
        get { values.value.cachePolicy }
        set { values.value.cachePolicy = newValue }
    }

    /// The document that the resource is part of, for the cookie policy; `nil` when it is a document itself.
    public var mainDocumentURL: URLRecord? {
        get { values.value.mainDocumentURL }
        set { values.value.mainDocumentURL = newValue }
    }

    /// Whether cookies of the storage are sent with the request and those of its responses kept.
    ///
    /// True by default; it does not concern a `Cookie` field of its own.
    public var httpShouldHandleCookies: Bool {
        get { values.value.httpShouldHandleCookies }
        set { values.value.httpShouldHandleCookies = newValue }
    }

    /// Properties for a protocol handler of the program; HTTP ignores them.
    public var properties: Properties {
        get { values.value.properties }
        set { values.value.properties = newValue }
    }

    /// A property of ``properties``.
    public subscript<Value>(key: PropertyKey<Value>) -> Value? {
        get { properties[key] }
        set { properties[key] = newValue }
    }

    /// How many bytes of the body are left out at its beginning.
    package internal(set) var bodyOffset: Int64 {
        get { values.value.bodyOffset }
        set { values.value.bodyOffset = newValue }
    }

    /// Options that are accepted without effect.
    var accepted: AcceptedOptions {
        get { values.value.accepted }
        set { values.value.accepted = newValue }
    }

    /// The URL as it was written, when parsing changed it; one that is set later was not written.
    package var writtenURL: String? {
        get { values.value.writtenURL }
        set { values.value.writtenURL = newValue }
    }

    /// Whether the URL was written otherwise than in its standard form.
    var isChangedByParsing: Bool { writtenURL != nil }

    /// Makes a request for a URL as a person wrote it.
    ///
    /// When its standard form is another text, delegates are asked about it before the first byte is sent.
    ///
    /// - Throws: `URLRecord.Failure` naming the broken rule.
    public init(_ url: String) throws(URLRecord.Failure) {
        self.init(url: try URLRecord(url))
        if self.url.description != url { writtenURL = url }
    }

    /// Makes a request.
    public init(
        url: URLRecord,
        method: HTTPRequest.Method = .get,
        headerFields: HTTPFields = [:],
        body: RequestBody? = nil,
        timeoutInterval: Duration? = nil,
        cachePolicy: CachePolicy = .useProtocolCachePolicy,
        mainDocumentURL: URLRecord? = nil
    ) {
        values = Boxed(
            Values(
                url: url, method: method, headerFields: headerFields, body: body, timeoutInterval: timeoutInterval,
                cachePolicy: cachePolicy, mainDocumentURL: mainDocumentURL))
    }
}

/// Which cached answers a load may use.
public enum CachePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// The policy of the URL's protocol.
    case useProtocolCachePolicy
    /// Load from the origin.
    case reloadIgnoringLocalCacheData
    /// Load from the origin, and tell caches on the way to do so too.
    case reloadIgnoringLocalAndRemoteCacheData
    /// Use a cached answer of any age, else load.
    case returnCacheDataElseLoad
    /// Use a cached answer of any age, else fail without a connection.
    case returnCacheDataDontLoad
    /// Use a cached answer only after the origin has confirmed it.
    case reloadRevalidatingCacheData
}
