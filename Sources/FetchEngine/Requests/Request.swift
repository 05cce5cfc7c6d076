public import HTTPTypes

/// What to load, apart from how: a URL and the properties of the request made for it.
public struct Request: Sendable {
    /// The URL.
    ///
    /// Its fragment stays here; its user name and password are never sent as part of it.
    public var url: URLRecord

    /// The method; case-sensitive.
    ///
    /// `GET` by default.
    public var method: HTTPRequest.Method

    /// The header fields, sent in this order with repeats kept.
    ///
    /// Fields that frame the message (`Host`, `Content-Length`, `Connection` and their like) belong to the engine:
    /// a load that sets one fails with `headerForbidden`.
    public var headerFields: HTTPFields

    /// The content to send; none by default.
    public var body: RequestBody?

    /// The content coding that the body is sent in, `Content-Encoding` included; `nil`, the default, is as it is.
    ///
    /// It is compressed while it is sent, so its length is not known before: the message is chunked (HTTP/1.1) or
    /// framed (HTTP/2). Only for http and https.
    public var bodyCoding: BodyCoding?

    /// Whether to try HTTP/3 at once; false.
    ///
    /// libcurl has no HTTP/3 here: true fails the load with `unsupportedURL` before a byte is sent.
    public var assumesHTTP3Capable = false

    /// How long no byte may move either way; `nil` takes the session's interval.
    public var timeoutInterval: Duration?

    /// Which cached answers may be used; by default those that the session's policy allows.
    public var cachePolicy: CachePolicy

    /// The document that the resource is part of, for the cookie policy; `nil` when it is a document itself.
    public var mainDocumentURL: URLRecord?

    /// Whether cookies of the storage are sent with the request and those of its answers kept.
    ///
    /// True by default; it says nothing about a `Cookie` field of its own.
    public var httpShouldHandleCookies = true

    /// What a protocol of the program's own wants to know besides; HTTP looks at none of it.
    public var properties = Properties()

    /// A property of ``properties``.
    public subscript<Value>(key: PropertyKey<Value>) -> Value? {
        get { properties[key] }
        set { properties[key] = newValue }
    }

    /// How many bytes of the body are left out at its beginning.
    var bodyOffset: Int64 = 0

    /// What it keeps without acting on it.
    var accepted = AcceptedOptions()

    /// The URL as it was written, when parsing changed it.
    private var writtenURL: String?

    /// Whether the URL was written otherwise than in its standard form.
    var isChangedByParsing: Bool { writtenURL != nil }

    /// Makes a request for a URL as somebody wrote it.
    ///
    /// When its standard form is another text, delegates hear of that before the first byte is sent.
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
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
        self.timeoutInterval = timeoutInterval
        self.cachePolicy = cachePolicy
        self.mainDocumentURL = mainDocumentURL
    }
}

/// Which cached answers a load may use.
public enum CachePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// What the protocol of the URL prescribes.
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
