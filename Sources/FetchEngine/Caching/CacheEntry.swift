import HTTPTypes

/// One stored response without its body, with all that a cache decides by.
public struct CacheEntry: Sendable {
    /// Names one version of an entry: storing or refreshing it makes another.
    public struct ID: Sendable, Hashable {
        /// The number.
        public let rawValue: UInt64
        /// Makes an id as it was stored.
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        static func random() -> ID { ID(rawValue: .random(in: .min ... .max)) }
    }

    /// The key under which it is stored.
    public let key: CacheKey
    /// Which version of the entry this is.
    public let id: ID
    /// Which requests select it.
    public let selection: CacheSelection
    /// Status and fields as they came, without the fields for the connection only.
    public let response: Response
    /// When the request left.
    public let requestTime: UnixTime
    /// When its answer came.
    public let responseTime: UnixTime
    /// The values that the delegate attached to it.
    public var userInfo: [String: String]
    /// Where it may be kept.
    public var storagePolicy: CachedResponse.StoragePolicy
    /// How many bytes the body has.
    public var bodyLength: Int64
    let freshness: Freshness

    /// Makes an entry as it was stored.
    public init(
        key: CacheKey, id: ID, selection: CacheSelection, response: Response, requestTime: UnixTime,
        responseTime: UnixTime, userInfo: [String: String] = [:],
        storagePolicy: CachedResponse.StoragePolicy = .allowed, bodyLength: Int64
    ) {
        self.key = key
        self.id = id
        self.selection = selection
        self.response = response
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.userInfo = userInfo
        self.storagePolicy = storagePolicy
        self.bodyLength = bodyLength
        freshness = Freshness(of: response, requestTime: requestTime, responseTime: responseTime)
    }

    /// The entry for an answer that has just come, or nil when nothing could ever select it.
    init?(for response: Response, to request: Request, sentAt requestTime: UnixTime, receivedAt responseTime: UnixTime)
    {
        guard let selection = CacheSelection(of: response.headerFields, for: request.headerFields) else { return nil }
        self.init(
            key: CacheKey(request), id: .random(), selection: selection,
            response: response.with(response.headerFields.storable), requestTime: requestTime,
            responseTime: responseTime, bodyLength: response.expectedContentLength ?? 0)
    }

    /// The same for a store where the values of cookies must not lie: they were set when the answer came, and no stored
    /// answer sets them again.
    package var withoutCookies: CacheEntry {
        guard response.headerFields.contains(.setCookie) else { return self }
        var fields = response.headerFields
        fields[fields: .setCookie] = []
        return CacheEntry(
            key: key, id: id, selection: selection, response: response.with(fields), requestTime: requestTime,
            responseTime: responseTime, userInfo: userInfo, storagePolicy: storagePolicy, bodyLength: bodyLength)
    }

    /// The bytes that it counts against a capacity: its body, and an estimate for its fields and its key.
    package var cost: Int64 {
        let fields = response.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
        let extras = userInfo.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 }
        return bodyLength + Int64(fields + extras + key.url.utf8.count + 512)
    }
}

extension CacheEntry {
    /// The time when the origin made the response: of several that a request selects, the latest is used.
    var date: UnixTime { freshness.date }

    /// The fields that make a request conditional on this answer being out of date; nil when the answer has no
    /// validator (RFC 9111 §4.3.1).
    var preconditions: [HTTPField]? {
        var fields: [HTTPField] = []
        if let tag = response.headerFields[values: .eTag].first, !tag.isEmpty {
            fields.append(HTTPField(name: .ifNoneMatch, value: tag))
        }
        if let modified = response.headerFields[values: .lastModified].first, !modified.isEmpty {
            fields.append(HTTPField(name: .ifModifiedSince, value: modified))
        }
        return fields.isEmpty ? nil : fields
    }

    /// The response as a request gets it from the cache, with its age (RFC 9111 §5.1).
    func served(to request: Request, at now: UnixTime) -> Response {
        var fields = response.headerFields
        fields[fields: .age] = []
        fields[.age] = String(max(0, freshness.age(at: now).components.seconds))
        return Response(
            url: request.url.withoutCredentials(), status: response.status, headerFields: fields,
            httpVersion: response.httpVersion, expectedContentLength: bodyLength)
    }
}

extension Response {
    /// The same with other fields.
    func with(_ fields: HTTPFields) -> Response {
        Response(
            url: url, status: status, headerFields: fields, httpVersion: httpVersion,
            expectedContentLength: expectedContentLength, properties: properties)
    }
}
