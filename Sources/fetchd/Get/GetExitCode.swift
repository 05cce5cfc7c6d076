import FetchEngine

/// How `fetchd get` ended.
///
/// If the curl command line has a number for the same error, it is that number.
enum GetExitCode: Int32, Error, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    case refusedTarget = 4
    case hostNotFound = 6
    case cannotConnect = 7
    case badResponse = 8
    case status = 22
    case cannotWrite = 23
    case cannotRead = 26
    case timedOut = 28
    case cannotResume = 33
    case tlsHandshake = 35
    case tooManyRedirects = 47
    case connectionLost = 56
    case certificate = 60
    case tooLarge = 63
    case badChecksum = 97
    case interrupted = 130
    case terminated = 143

    /// The meaning of the code, for the table in the help text.
    var meaning: String {
        switch self {
        case .success: "the load is complete, whatever the HTTP status"
        case .failure: "another failure"
        case .usage: "bad option, URL, method or header field"
        case .refusedTarget: "the URL, a redirect or an address is not allowed"
        case .hostNotFound: "the host name did not resolve"
        case .cannotConnect: "no connection could be made"
        case .badResponse: "the answer breaks the protocol"
        case .status: "HTTP status 400 or more, with --fail"
        case .cannotWrite: "the output could not be written"
        case .cannotRead: "the request body could not be read"
        case .timedOut: "a timeout ran out"
        case .cannotResume: "the server cannot go on where the file ends"
        case .tlsHandshake: "the TLS handshake failed"
        case .tooManyRedirects: "too many redirects"
        case .connectionLost: "the connection was lost"
        case .certificate: "the server's certificate is not valid"
        case .tooLarge: "the answer is larger than allowed"
        case .badChecksum: "the body is not the one that --checksum names"
        case .interrupted: "interrupted (SIGINT)"
        case .terminated: "terminated (SIGTERM)"
        }
    }

    /// All codes with their meanings, one a line.
    static var table: String {
        allCases.map { code in
            let number = String(code.rawValue)
            return String(repeating: " ", count: max(0, 5 - number.count)) + number + "  " + code.meaning
        }.joined(separator: "\n")
    }

    /// The code for a load that failed.
    init(_ code: LoadError.Code) { self = Self.codes[code] ?? (Self.isRefusal(code) ? .refusedTarget : .failure) }

    /// The address guard's codes reach a load as they are; new ones may come.
    private static func isRefusal(_ code: LoadError.Code) -> Bool { code.name.hasSuffix("Forbidden") }

    private static let codes: [LoadError.Code: GetExitCode] = [
        .badURL: .usage, .unsupportedURL: .usage, .methodInvalid: .usage, .headerInvalid: .usage,
        .headerForbidden: .usage,
        .addressForbidden: .refusedTarget, .redirectTargetForbidden: .refusedTarget,
        .redirectDowngrade: .refusedTarget, .redirectRefused: .refusedTarget,
        .redirectToNonExistentLocation: .refusedTarget,
        .cannotFindHost: .hostNotFound, .dnsLookupFailed: .hostNotFound,
        .cannotConnectToHost: .cannotConnect, .notConnectedToInternet: .cannotConnect,
        .badServerResponse: .badResponse, .cannotParseResponse: .badResponse, .zeroByteResource: .badResponse,
        .cannotDecodeRawData: .badResponse, .cannotDecodeContentData: .badResponse,
        .timedOut: .timedOut,
        .secureConnectionFailed: .tlsHandshake, .clientCertificateRejected: .tlsHandshake,
        .clientCertificateRequired: .tlsHandshake,
        .serverCertificateHasBadDate: .certificate, .serverCertificateUntrusted: .certificate,
        .serverCertificateHasNoName: .certificate,
        .serverCertificateHasUnknownRoot: .certificate, .serverCertificateNotYetValid: .certificate,
        .httpTooManyRedirects: .tooManyRedirects,
        .networkConnectionLost: .connectionLost,
        .dataLengthExceedsMaximum: .tooLarge,
        .fileDoesNotExist: .cannotRead, .fileIsDirectory: .cannotRead, .noPermissionsToReadFile: .cannotRead,
        .requestBodyStreamExhausted: .cannotRead,
        .cannotCreateFile: .cannotWrite, .cannotOpenFile: .cannotWrite, .cannotCloseFile: .cannotWrite,
        .cannotWriteToFile: .cannotWrite, .cannotMoveFile: .cannotWrite,
    ]
}
