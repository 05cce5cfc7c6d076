public import HTTPTypes

/// The head of a server's response, without the content.
///
/// ```swift
/// let (_, response) = try await session.data(for: request)
/// guard response.status.kind == .successful else { return }
/// print(response.url, response.headerFields[.contentType] ?? "of no type", response.cacheStatus)
/// ```
public struct Response: Sendable {
    /// Apart from the response, which every step of a load passes on.
    private var values: Boxed<Values>

    private struct Values: Sendable {
        let url: URLRecord
        let status: HTTPResponse.Status
        let headerFields: HTTPFields
        /// Read once: a load asks for it several times.
        let mediaType: MediaType?
        let httpVersion: String
        let expectedContentLength: Int64?
        let properties: Properties
        var source = Source.network
        var cacheStatus = CacheStatus()
    }

    /// The URL that gave this response: the last one, after redirects.
    public var url: URLRecord { values.value.url }

    /// The status code and the server's reason phrase, which may be empty.
    public var status: HTTPResponse.Status { values.value.status }

    /// The header fields in the order they came, repeats kept.
    public var headerFields: HTTPFields { values.value.headerFields }

    /// The protocol the response came by: `http/1.0`, `http/1.1` or `h2`; for others the scheme, such as `data`.
    ///
    /// Protocols without a status of their own answer 200 when they have the resource.
    public var httpVersion: String { values.value.httpVersion }

    /// The length of the body in bytes, or `nil` when the server did not state it.
    public var expectedContentLength: Int64? { values.value.expectedContentLength }

    /// Further properties from a protocol of the program's own.
    public var properties: Properties { values.value.properties }

    /// Where it came from.
    public internal(set) var source: Source {
        get { values.value.source }
        set { values.value.source = newValue }
    }

    /// The part of the cache in it, as the `Cache-Status` field of RFC 9211 would say.
    public internal(set) var cacheStatus: CacheStatus {
        get { values.value.cacheStatus }
        set { values.value.cacheStatus = newValue }
    }

    /// A property of ``properties``.
    public subscript<Value>(key: PropertyKey<Value>) -> Value? { properties[key] }

    /// The media type in lower case without its parameters, or `nil` when the server named none.
    public var mimeType: String? { mediaType?.essence }

    /// The charset the server named, or `nil`.
    public var textEncodingName: String? { mediaType?.charset }

    var mediaType: MediaType? { values.value.mediaType }

    /// Makes a response, for example in a test of code that reads one.
    public init(
        url: URLRecord,
        status: HTTPResponse.Status,
        headerFields: HTTPFields = [:],
        httpVersion: String = "http/1.1",
        expectedContentLength: Int64? = nil,
        properties: Properties = Properties()
    ) {
        values = Boxed(
            Values(
                url: url, status: status, headerFields: headerFields,
                mediaType: headerFields.contentType.flatMap(MediaType.init), httpVersion: httpVersion,
                expectedContentLength: expectedContentLength, properties: properties))
    }
}

extension HTTPFields {
    /// The same as `[.contentType]`, without the generic sequences by which that joins several: every response is asked.
    fileprivate var contentType: String? {
        var first: HTTPField?
        for field in self where field.name.canonicalName.utf8.count == 12 && field.name == .contentType {
            guard first == nil else { return self[.contentType] }
            first = field
        }
        return first?.value
    }
}
