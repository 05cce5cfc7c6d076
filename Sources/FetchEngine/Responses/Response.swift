public import HTTPTypes

/// What the server said about the content it sends, without the content.
public struct Response: Sendable {
    /// The URL that gave this response: the last one, after redirects.
    public let url: URLRecord

    /// The status code and the server's reason phrase, which may be empty.
    public let status: HTTPResponse.Status

    /// The header fields in the order they came, repeats kept.
    public let headerFields: HTTPFields

    /// The protocol the response came by: `http/1.0`, `http/1.1` or `h2`; for others the scheme, such as `data`.
    ///
    /// Protocols without a status of their own answer 200 when they have the resource.
    public let httpVersion: String

    /// The length of the body in bytes, or `nil` when the server did not tell.
    public let expectedContentLength: Int64?

    /// What a protocol of the program's own tells besides.
    public let properties: Properties

    /// Where it came from.
    public internal(set) var source = Source.network

    /// What the cache did for it, which the `Cache-Status` field of RFC 9211 would say.
    public internal(set) var cacheStatus = CacheStatus()

    /// A property of ``properties``.
    public subscript<Value>(key: PropertyKey<Value>) -> Value? { properties[key] }

    /// The media type in lower case without its parameters, or `nil` when the server named none.
    public var mimeType: String? { mediaType?.essence }

    /// The charset the server named, or `nil`.
    public var textEncodingName: String? { mediaType?.charset }

    var mediaType: MediaType? { headerFields[.contentType].flatMap(MediaType.init) }

    /// Makes a response, for example in a test of code that reads one.
    public init(
        url: URLRecord,
        status: HTTPResponse.Status,
        headerFields: HTTPFields = [:],
        httpVersion: String = "http/1.1",
        expectedContentLength: Int64? = nil,
        properties: Properties = Properties()
    ) {
        self.url = url
        self.status = status
        self.headerFields = headerFields
        self.httpVersion = httpVersion
        self.expectedContentLength = expectedContentLength
        self.properties = properties
    }
}
