extension LoadError {
    /// The stable word and number of an error.
    ///
    /// The names and numbers of `NSURLErrorDomain`, and names of our own, in lower camel case, that carry the
    /// number of the nearest one there. The set is open: compare with the constants, keep what you do not know.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, such as `timedOut`.
        public let name: String

        /// The number in `NSURLErrorDomain`, such as -1001.
        public let number: Int

        /// Makes a code of the caller's own.
        ///
        /// - Parameters:
        ///   - name: A name in lower camel case.
        ///   - number: The nearest number of `NSURLErrorDomain`.
        public init(_ name: String, _ number: Int) {
            self.name = name
            self.number = number
        }

        /// The name.
        public var description: String { name }

        /// Two codes of one name are the same code.
        public static func == (left: Code, right: Code) -> Bool { left.name == right.name }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }

        /// Whether a load that failed with this code may succeed later.
        public var isTransient: Bool { Code.transient.contains(self) }

        private static let transient: Set<Code> = [
            .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .notConnectedToInternet, .badServerResponse, .cannotParseResponse, .secureConnectionFailed,
            .cannotLoadFromNetwork, .resourceUnavailable, .zeroByteResource, .proxyCouldNotConnect,
        ]
    }
}

extension LoadError.Code {
    /// A failure that has no other code.
    public static let unknown = Self("unknown", -1)
    /// The task was cancelled.
    public static let cancelled = Self("cancelled", -999)
    /// A background session needs a container that it can share.
    public static let backgroundSessionRequiresSharedContainer = Self("backgroundSessionRequiresSharedContainer", -995)
    /// A background session with this identifier is alive already.
    public static let backgroundSessionInUseByAnotherProcess = Self("backgroundSessionInUseByAnotherProcess", -996)
    /// The process that carried the background session is gone.
    public static let backgroundSessionWasDisconnected = Self("backgroundSessionWasDisconnected", -997)
    /// The URL cannot be read.
    public static let badURL = Self("badURL", -1000)
    /// No byte moved for the idle interval, or the resource took longer than it may.
    public static let timedOut = Self("timedOut", -1001)
    /// No handler serves the URL's scheme.
    public static let unsupportedURL = Self("unsupportedURL", -1002)
    /// The host name did not resolve.
    public static let cannotFindHost = Self("cannotFindHost", -1003)
    /// No connection could be made.
    public static let cannotConnectToHost = Self("cannotConnectToHost", -1004)
    /// The connection broke before the load was complete.
    public static let networkConnectionLost = Self("networkConnectionLost", -1005)
    /// The name service failed.
    public static let dnsLookupFailed = Self("dnsLookupFailed", -1006)
    /// More redirects than the configuration allows.
    public static let httpTooManyRedirects = Self("httpTooManyRedirects", -1007)
    /// The resource is not available, for example from the cache alone.
    public static let resourceUnavailable = Self("resourceUnavailable", -1008)
    /// There is no network.
    public static let notConnectedToInternet = Self("notConnectedToInternet", -1009)
    /// A redirect led to a place that cannot be loaded.
    public static let redirectToNonExistentLocation = Self("redirectToNonExistentLocation", -1010)
    /// The answer breaks the protocol.
    public static let badServerResponse = Self("badServerResponse", -1011)
    /// A challenge was answered with cancel.
    public static let userCancelledAuthentication = Self("userCancelledAuthentication", -1012)
    /// The load needs credentials.
    public static let userAuthenticationRequired = Self("userAuthenticationRequired", -1013)
    /// The server promised content and sent none.
    public static let zeroByteResource = Self("zeroByteResource", -1014)
    /// The content cannot be decoded.
    public static let cannotDecodeRawData = Self("cannotDecodeRawData", -1015)
    /// The content coding is unknown or broken.
    public static let cannotDecodeContentData = Self("cannotDecodeContentData", -1016)
    /// The answer cannot be parsed.
    public static let cannotParseResponse = Self("cannotParseResponse", -1017)
    /// The body has to be sent again and no new stream was given.
    public static let requestBodyStreamExhausted = Self("requestBodyStreamExhausted", -1021)
    /// The file does not exist: one to send, or the one that a file or ftp URL names.
    public static let fileDoesNotExist = Self("fileDoesNotExist", -1100)
    /// The file to send, or to load, is a directory.
    public static let fileIsDirectory = Self("fileIsDirectory", -1101)
    /// The file to send, or to load, may not be read.
    public static let noPermissionsToReadFile = Self("noPermissionsToReadFile", -1102)
    /// The content, or the header section, is larger than it may be.
    public static let dataLengthExceedsMaximum = Self("dataLengthExceedsMaximum", -1103)
    /// The TLS handshake failed.
    public static let secureConnectionFailed = Self("secureConnectionFailed", -1200)
    /// The server's certificate has expired.
    public static let serverCertificateHasBadDate = Self("serverCertificateHasBadDate", -1201)
    /// The server's certificate does not fit the host, or is revoked.
    public static let serverCertificateUntrusted = Self("serverCertificateUntrusted", -1202)
    /// The server's certificate has no `subjectAltName`, which alone names its hosts (RFC 9525 §4).
    public static let serverCertificateHasNoName = Self("serverCertificateHasNoName", -1202)
    /// The server's certificate was not issued by a known authority.
    public static let serverCertificateHasUnknownRoot = Self("serverCertificateHasUnknownRoot", -1203)
    /// The server's certificate is not valid yet.
    public static let serverCertificateNotYetValid = Self("serverCertificateNotYetValid", -1204)
    /// The server refused the client certificate.
    public static let clientCertificateRejected = Self("clientCertificateRejected", -1205)
    /// The server wants a client certificate.
    public static let clientCertificateRequired = Self("clientCertificateRequired", -1206)
    /// The load may not use the network.
    public static let cannotLoadFromNetwork = Self("cannotLoadFromNetwork", -2000)
    /// The file could not be created.
    public static let cannotCreateFile = Self("cannotCreateFile", -3000)
    /// The file could not be opened.
    public static let cannotOpenFile = Self("cannotOpenFile", -3001)
    /// The file could not be closed.
    public static let cannotCloseFile = Self("cannotCloseFile", -3002)
    /// The file could not be written.
    public static let cannotWriteToFile = Self("cannotWriteToFile", -3003)
    /// The file could not be removed.
    public static let cannotRemoveFile = Self("cannotRemoveFile", -3004)
    /// The file could not be moved.
    public static let cannotMoveFile = Self("cannotMoveFile", -3005)
    /// Decoding the download failed on the way.
    public static let downloadDecodingFailedMidStream = Self("downloadDecodingFailedMidStream", -3006)
    /// Decoding the download failed at its end.
    public static let downloadDecodingFailedToComplete = Self("downloadDecodingFailedToComplete", -3007)
}

extension LoadError.Code {
    /// The address the connection would reach is not allowed.
    public static let addressForbidden = Self("addressForbidden", -2000)
    /// A redirect leads where the target policy or the allowed hosts do not let it.
    public static let redirectTargetForbidden = Self("redirectTargetForbidden", -2000)
    /// A redirect leads from https to http, which the configuration does not allow.
    public static let redirectDowngrade = Self("redirectDowngrade", -2000)
    /// The redirect policy is to fail.
    public static let redirectRefused = Self("redirectRefused", -2000)
    /// A request header field breaks the grammar.
    public static let headerInvalid = Self("headerInvalid", -1000)
    /// A request header field belongs to the engine.
    public static let headerForbidden = Self("headerForbidden", -1000)
    /// The method is no token, too long or not allowed.
    public static let methodInvalid = Self("methodInvalid", -1000)
    /// The content is not the one that its digest, or the caller's, names.
    public static let contentDigestMismatch = Self("contentDigestMismatch", -1015)
    /// The session was invalidated before the task started.
    public static let sessionInvalidated = Self("sessionInvalidated", -999)

    /// The code of a load whose target is refused: the name of the rule, and the number of the nearest error.
    init(_ refusal: TargetRefusal.Code) {
        switch refusal {
        case .addressForbidden: self = .addressForbidden
        case .proxyForbidden: self = .proxyForbidden
        case .hostForbidden, .portForbidden, .egressDenied, .egressNotAllowed:
            self.init(refusal.name, Self.cannotLoadFromNetwork.number)
        case .schemeForbidden: self.init(refusal.name, Self.unsupportedURL.number)
        // All others are about how the URL is written.
        default: self.init(refusal.name, Self.badURL.number)
        }
    }
}

extension LoadError.Code {
    /// The configuration names a proxy that cannot be one.
    public static let proxyInvalid = Self("proxyInvalid", -1000)
    /// The target policy does not allow the proxy, or not for this target.
    public static let proxyForbidden = Self("proxyForbidden", -1004)
    /// The name of the proxy did not resolve.
    public static let cannotFindProxy = Self("cannotFindProxy", -1003)
    /// No connection to the proxy could be made, TLS with it included.
    public static let cannotConnectToProxy = Self("cannotConnectToProxy", -1004)
    /// The proxy does not connect to the target.
    public static let proxyRefusedConnection = Self("proxyRefusedConnection", -1004)
    /// The proxy could not connect to the target, which it may later (a status of 500 to 599 but 504).
    public static let proxyCouldNotConnect = Self("proxyCouldNotConnect", -1004)
    /// The proxy wants a credential, or another than the one it was shown.
    public static let proxyAuthenticationRequired = Self("proxyAuthenticationRequired", -1013)
    /// The proxy does not speak its protocol.
    public static let badProxyResponse = Self("badProxyResponse", -1011)
}
