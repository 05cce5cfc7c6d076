public import HTTPTypes

/// How the loads of a session behave.
///
/// A value: a session keeps its own copy.
///
/// ```swift
/// var configuration = SessionConfiguration.ephemeral
/// configuration.timeoutIntervalForResource = .seconds(60)
/// configuration.httpCookieStorage = nil
/// let session = Session(configuration: configuration)
/// ```
public struct SessionConfiguration: Sendable, Hashable {
    /// The kind of the session.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// State is kept in the stores that the configuration names, which may outlive the session.
        case `default`
        /// State is kept in memory, and ends with the session.
        case ephemeral
        /// As `default`, for transfers that go on while the client is gone.
        case background
    }

    /// The kind of the session.
    public var kind: Kind
    /// The handling of redirects.
    public var redirects = RedirectConfiguration()
    /// How long no byte may move either way; 60 s.
    ///
    /// A request's own interval wins.
    public var timeoutIntervalForRequest: Duration = .seconds(60)
    /// How long a whole task may take, redirects included; `nil` is without end.
    ///
    /// Seven days. The time stands still while the task is suspended.
    public var timeoutIntervalForResource: Duration? = .seconds(604_800)
    /// Whether that time goes on while a task is suspended, for one that has to be over at a moment; false.
    package var countsTimeWhileSuspended = false
    /// How long making a connection may take, TLS included; 15 s.
    public var connectTimeout: Duration = .seconds(15)
    /// Whether a task that finds no connection waits for one instead of failing, as long as the resource may take;
    /// false.
    public var waitsForConnectivity = false
    /// Whether the request waits for a `100 Continue` before its body.
    public var expectContinue = ExpectContinuePolicy.automatic
    /// Whether upload tasks ask the server to keep the received part of an upload that breaks off; false.
    ///
    /// Where the server does, the error of the task has ``LoadError/uploadResumeData``. Not for bodies with a
    /// ``Request/bodyCoding``.
    public var resumesUploads = false
    /// How they ask for it; `draft`, the IETF's, by default.
    public var uploadProtocol = UploadProtocol.draft
    /// How many HTTP/1.1 connections a session keeps to one origin at a time; 6.
    ///
    /// Further loads wait in order.
    public var httpMaximumConnectionsPerHost = 6
    /// The protocol versions that may be used.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// TLS versions and trust.
    public var tls = TLSConfiguration()
    /// The proxies that loads go through; none by default.
    public var proxies = ProxyConfiguration.none
    /// The way out that connections take.
    public var network = NetworkConfiguration()
    /// How ftp URLs are loaded.
    public var ftp = FTPConfiguration()
    /// The schemes of URLs that are loaded over the network: http, https, ftp and ftps.
    ///
    /// A target policy that restricts allows ftp and ftps only where it opens them, and no redirect leads there.
    public var networkSchemes: Set<String> = ["http", "https", "ftp", "ftps"]
    /// Fields sent with each request that does not set them itself, in this order.
    public var httpAdditionalHeaders: HTTPFields = [:]
    /// Whether ``TaskMetrics`` have the header fields that each request was sent with, and those of each response;
    /// false.
    ///
    /// It takes some microseconds for each request, and memory for as long as the task is there.
    public var recordsHeaderFields = false
    /// Whether responses are asked for in a content coding (gzip, deflate, br, zstd) and given to the program without
    /// it; true.
    ///
    /// Not so for a request that has `Accept-Encoding` or `Range` itself: its response comes as the server sends it.
    public var automaticallyDecodesContent = true
    /// Whether such a request asks for the content codings, or for `identity`; true.
    ///
    /// A representation in no coding can be continued where it was cut. One that comes in a coding nevertheless is
    /// decoded.
    public var offersContentCodings = true
    /// Whether bodies are compared with the digests that their server states in `Repr-Digest`, `Content-Digest` or
    /// `Digest`, or in trailers that it announces; true.
    ///
    /// A body that is something else fails with `contentDigestMismatch` at its end. One whose content coding is undone
    /// is not looked at.
    public var verifiesContentDigests = true
    /// How much decoding may make of a response's body.
    public var decodingLimits = DecodingLimits()
    /// The most bytes a response body may have, and a file that is decoded from it; more fails with
    /// `dataLengthExceedsMaximum`.
    ///
    /// `nil`: any number.
    public var maximumResponseBytes: Int64?
    /// How many bytes a second a transfer may receive, and as many send, in the long run; at least 1.
    ///
    /// `nil`: any number. Tasks that are to share a bandwidth have ``SessionTask/bandwidths``.
    public var maximumBytesPerSecond: Int64?
    /// The most bytes of status lines, header fields and trailers one exchange may bring; 256 KiB.
    public var maximumHeaderBytes = 256 * 1024
    /// Where answers are stored for later loads; `nil`, the default: nowhere.
    ///
    /// Sessions that have the same cache share its entries.
    public var urlCache: (any ResponseCache)? {
        get { cache.object }
        set { cache.object = newValue }
    }

    private var cache = SharedObject<any ResponseCache>()

    /// Which stored answers are used for requests that do not choose themselves.
    public var requestCachePolicy = CachePolicy.useProtocolCachePolicy
    /// Which responses are stored and used again, as far as the protocol leaves that open.
    public var caching = CachingConfiguration()
    /// How challenges are answered, beside credentials.
    public var authentication = AuthenticationConfiguration()
    /// Where credentials are looked for, and where those that convinced are kept.
    ///
    /// `nil`, the default, is a store of the session's own, in memory.
    public var credentialStorage: (any CredentialStorage)? {
        get { credentials.object }
        set { credentials.object = newValue }
    }

    private var credentials = SharedObject<any CredentialStorage>()

    /// Which targets may be reached; all of them, unless the program narrows it.
    public var targetPolicy = TargetPolicy.unrestricted

    /// Where cookies are kept; `nil`: nowhere, and none is sent.
    ///
    /// By default a storage in memory that is made with the configuration: copies of it share the storage. The storage
    /// of an ephemeral configuration is emptied when the session is invalidated.
    public var httpCookieStorage: (any CookieStorage)? {
        get { cookieStorage.object }
        set { cookieStorage.object = newValue }
    }

    private var cookieStorage: SharedObject<any CookieStorage>

    /// Which cookies are taken, unless the storage's own policy is stricter; `onlyFromMainDocumentDomain`.
    public var httpCookieAcceptPolicy = CookieAcceptPolicy.onlyFromMainDocumentDomain
    /// Whether requests carry the cookies of the storage; true.
    ///
    /// Cookies of responses are kept nevertheless.
    public var httpShouldSetCookies = true

    /// The hosts that are reached by https alone, and the store of the policies that hosts send; `nil`, the default:
    /// none.
    ///
    /// An http URL of such a host becomes https, redirects included, and delegates are asked as about any other change of
    /// a URL's form. A certificate of it that is not trusted cannot be accepted by a delegate.
    public var strictTransport: StrictTransportStore? {
        get { strictTransportStore.object }
        set { strictTransportStore.object = newValue }
    }

    private var strictTransportStore = SharedObject<StrictTransportStore>()

    /// The folders below which `file:` URLs may be loaded, as absolute paths; none by default.
    ///
    /// Links are not followed. A path that is not absolute opens nothing.
    public var fileRoots: [String] = []
    /// A folder that is the root of what `file:` URLs name, so that they tell nothing of where it lies.
    package var fileMount: String?
    /// The owner of its loads; nil, the default: the session is an owner of its own.
    ///
    /// Where loads have to wait for descriptors, or for threads to look names up, owners take turns. They share no
    /// connections, in one session either.
    package var owner: String?
    /// See ``protocolHandlers``.
    var handlerList: HandlerList?
    /// Options that are accepted without effect.
    var accepted = AcceptedOptions()

    /// Makes the defaults of a kind.
    public init(kind: Kind = .default) {
        self.kind = kind
        cookieStorage = SharedObject(MemoryCookieStorage(endsWithSession: kind == .ephemeral))
    }

    /// The defaults; nothing is written to disk unless a store is named that does.
    ///
    /// See ``persistent(in:memoryCapacity:diskCapacity:)`` for stores that outlive the process.
    public static var `default`: SessionConfiguration { SessionConfiguration(kind: .default) }
    /// The defaults, with everything in memory.
    public static var ephemeral: SessionConfiguration { SessionConfiguration(kind: .ephemeral) }
    /// The defaults for background transfers.
    public static var background: SessionConfiguration { SessionConfiguration(kind: .background) }
}

/// When a request with a body carries `Expect: 100-continue` (RFC 9110 §10.1.1, UPL-10).
///
/// It then waits up to a second for the server to ask for the body; a server that refuses at once spares the sending.
/// Only HTTP/1.1 has it. A server that does not know it (417) gets the request again without the field.
public enum ExpectContinuePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// With a body of a mebibyte or more, or when the request sets the field itself.
    case automatic
    /// With every body.
    case always
    /// Only when the request sets the field itself.
    case never
}

/// The HTTP versions that may be used.
public enum HTTPVersionPolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// HTTP/2 where TLS agrees on it, else HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 where TLS agrees on it; without TLS by prior knowledge.
    case http2
}

extension SessionConfiguration {
    /// What a file may be decoded to: no more than a body may have.
    var decodingLimitsOfFile: DecodingLimits {
        var limits = decodingLimits
        if let most = maximumResponseBytes { limits.maximumBytes = min(limits.maximumBytes ?? most, most) }
        return limits
    }
}
