package import FetchEngine

/// An error that the loads of jobs end with.
package struct LoadErrorKind: Sendable {
    package let name: String
    /// The number in `NSURLErrorDomain`, its own or the nearest.
    package let number: Int
    /// Whether the same load may succeed when it is repeated later.
    package let isTransient: Bool

    private init(_ code: LoadError.Code) {
        name = code.name
        number = code.number
        isTransient = code.isTransient
    }

    /// All of them; a test compares them with the codes that there are.
    package static let all: [Self] = (codes + refusals).map { Self($0) }

    private static let codes: [LoadError.Code] = [
        .unknown, .cancelled, .backgroundSessionRequiresSharedContainer, .backgroundSessionInUseByAnotherProcess,
        .backgroundSessionWasDisconnected, .badURL, .timedOut, .unsupportedURL, .cannotFindHost, .cannotConnectToHost,
        .networkConnectionLost, .dnsLookupFailed, .httpTooManyRedirects, .resourceUnavailable, .notConnectedToInternet,
        .redirectToNonExistentLocation, .badServerResponse, .userCancelledAuthentication, .userAuthenticationRequired,
        .zeroByteResource, .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse,
        .requestBodyStreamExhausted, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile,
        .dataLengthExceedsMaximum, .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasNoName, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
        .clientCertificateRejected, .clientCertificateRequired, .cannotLoadFromNetwork, .cannotCreateFile,
        .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete, .addressForbidden,
        .redirectTargetForbidden, .redirectDowngrade, .redirectRefused, .headerInvalid, .headerForbidden,
        .methodInvalid, .contentDigestMismatch, .sessionInvalidated, .proxyInvalid, .proxyForbidden, .cannotFindProxy,
        .cannotConnectToProxy, .proxyRefusedConnection, .proxyCouldNotConnect, .proxyAuthenticationRequired,
        .badProxyResponse, .clientIdentityInvalid, .clientIdentityTooCostly, .revocationListInvalid, .uploadRefused,
        .jobInvalid, .workerCrashed,
    ]

    /// The rules of the target policy that have no code of their own.
    private static let refusals: [LoadError.Code] =
        [TargetRefusal.Code.hostForbidden, .portForbidden, .egressDenied, .egressNotAllowed]
        .map { LoadError.Code($0.name, LoadError.Code.cannotLoadFromNetwork.number) }
        + [LoadError.Code(TargetRefusal.Code.schemeForbidden.name, LoadError.Code.unsupportedURL.number)]
        + [
            TargetRefusal.Code.urlInvalid, .urlTooLong, .hostSingleLabel, .hostPercentEncoded, .hostTrailingDot,
            .hostNonCanonicalIP, .hostZoneID,
        ].map { LoadError.Code($0.name, LoadError.Code.badURL.number) }
}

extension LoadError.Code {
    /// A job that breaks a rule, stored by other ways than the API.
    package static let jobInvalid = Self("jobInvalid", LoadError.Code.badURL.number)
    /// Nodes were lost while they ran the job.
    package static let workerCrashed = Self("workerCrashed", LoadError.Code.unknown.number)
}
