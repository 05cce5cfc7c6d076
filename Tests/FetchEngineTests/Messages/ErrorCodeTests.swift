import CCurl
import Testing

@testable import FetchEngine

@Suite struct ErrorCodeTests {
    /// The names and numbers of NSURLErrorDomain.
    static let numbers: [(LoadError.Code, String, Int)] = [
        (.unknown, "unknown", -1),
        (.backgroundSessionRequiresSharedContainer, "backgroundSessionRequiresSharedContainer", -995),
        (.backgroundSessionInUseByAnotherProcess, "backgroundSessionInUseByAnotherProcess", -996),
        (.backgroundSessionWasDisconnected, "backgroundSessionWasDisconnected", -997), (.cancelled, "cancelled", -999),
        (.badURL, "badURL", -1000), (.timedOut, "timedOut", -1001), (.unsupportedURL, "unsupportedURL", -1002),
        (.cannotFindHost, "cannotFindHost", -1003), (.cannotConnectToHost, "cannotConnectToHost", -1004),
        (.networkConnectionLost, "networkConnectionLost", -1005), (.dnsLookupFailed, "dnsLookupFailed", -1006),
        (.httpTooManyRedirects, "httpTooManyRedirects", -1007), (.resourceUnavailable, "resourceUnavailable", -1008),
        (.notConnectedToInternet, "notConnectedToInternet", -1009),
        (.redirectToNonExistentLocation, "redirectToNonExistentLocation", -1010),
        (.badServerResponse, "badServerResponse", -1011),
        (.userCancelledAuthentication, "userCancelledAuthentication", -1012),
        (.userAuthenticationRequired, "userAuthenticationRequired", -1013),
        (.zeroByteResource, "zeroByteResource", -1014), (.cannotDecodeRawData, "cannotDecodeRawData", -1015),
        (.cannotDecodeContentData, "cannotDecodeContentData", -1016),
        (.cannotParseResponse, "cannotParseResponse", -1017),
        (.requestBodyStreamExhausted, "requestBodyStreamExhausted", -1021),
        (.fileDoesNotExist, "fileDoesNotExist", -1100), (.fileIsDirectory, "fileIsDirectory", -1101),
        (.noPermissionsToReadFile, "noPermissionsToReadFile", -1102),
        (.dataLengthExceedsMaximum, "dataLengthExceedsMaximum", -1103),
        (.secureConnectionFailed, "secureConnectionFailed", -1200),
        (.serverCertificateHasBadDate, "serverCertificateHasBadDate", -1201),
        (.serverCertificateUntrusted, "serverCertificateUntrusted", -1202),
        (.serverCertificateHasUnknownRoot, "serverCertificateHasUnknownRoot", -1203),
        (.serverCertificateNotYetValid, "serverCertificateNotYetValid", -1204),
        (.clientCertificateRejected, "clientCertificateRejected", -1205),
        (.clientCertificateRequired, "clientCertificateRequired", -1206),
        (.cannotLoadFromNetwork, "cannotLoadFromNetwork", -2000), (.cannotCreateFile, "cannotCreateFile", -3000),
        (.cannotOpenFile, "cannotOpenFile", -3001), (.cannotCloseFile, "cannotCloseFile", -3002),
        (.cannotWriteToFile, "cannotWriteToFile", -3003), (.cannotRemoveFile, "cannotRemoveFile", -3004),
        (.cannotMoveFile, "cannotMoveFile", -3005),
        (.downloadDecodingFailedMidStream, "downloadDecodingFailedMidStream", -3006),
        (.downloadDecodingFailedToComplete, "downloadDecodingFailedToComplete", -3007),
    ]

    // Proves: ERR-4.
    @Test(arguments: numbers)
    func `every code has the name and number of the platform`(
        _ code: LoadError.Code, _ name: String, _ number: Int
    ) {
        #expect(code.name == name)
        #expect(code.number == number)
    }

    // Proves: ERR-4.
    @Test(arguments: [
        (TargetRefusal.Code.urlInvalid, -1000), (.urlTooLong, -1000), (.hostSingleLabel, -1000), (.hostZoneID, -1000),
        (.hostPercentEncoded, -1000), (.hostTrailingDot, -1000), (.hostNonCanonicalIP, -1000),
        (.schemeForbidden, -1002), (.proxyForbidden, -1004), (.addressForbidden, -2000), (.hostForbidden, -2000),
        (.egressDenied, -2000),
        (.portForbidden, -2000),
    ])
    func `a refused target has the word of its rule and the number of what the rule forbids`(
        _ refusal: TargetRefusal.Code, _ number: Int
    ) {
        let code = LoadError.Code(refusal)
        #expect(code.name == refusal.name && code.number == number)
    }

    /// Codes that only a mistake of ours in calling libcurl can bring.
    static let misuse: Set<UInt32> = Set(
        [
            CURLE_FAILED_INIT, CURLE_NOT_BUILT_IN, CURLE_HTTP_POST_ERROR, CURLE_FUNCTION_NOT_FOUND,
            CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION, CURLE_SETOPT_OPTION_SYNTAX, CURLE_CHUNK_FAILED,
            CURLE_RECURSIVE_API_CALL,
        ].map(\.rawValue))

    // Proves: ERR-4, FN-57.
    @Test func `every code of libcurl has a code of ours, unknown is for misuse alone`() {
        let unused = String(cString: curl_easy_strerror(CURLcode(rawValue: 20)))
        for number in 1..<CURL_LAST.rawValue {
            let result = CURLcode(rawValue: number)
            let text = String(cString: curl_easy_strerror(result))
            guard text != unused else { continue }
            let error = LoadError(curl: result, detail: "")
            #expect((error.code == .unknown) == Self.misuse.contains(number), "\(number): \(text)")
            #expect(error.underlying?.number == Int(number))
            #expect(error.underlying?.text == text)
            #expect(error.message.hasSuffix("."))
            #expect((error.message == "The load failed.") == (error.code == .unknown), "\(error.code)")
        }
    }

    // Proves: ERR-4.
    @Test(arguments: [
        (CURLE_UNSUPPORTED_PROTOCOL, "Received HTTP/0.9 when not allowed", LoadError.Code.cannotParseResponse),
        (CURLE_RECV_ERROR, "Illegal or missing hexadecimal sequence in chunked-encoding", .cannotParseResponse),
        (
            CURLE_RECV_ERROR,
            "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
            .clientCertificateRequired
        ),
        (CURLE_SSL_CONNECT_ERROR, "error:0A000418:SSL routines::tlsv1 alert unknown ca", .clientCertificateRejected),
        (
            CURLE_SSL_CONNECT_ERROR, "error:0A000410:SSL routines::sslv3 alert handshake failure",
            .secureConnectionFailed
        ),
        (CURLE_RECV_ERROR, "Recv failure: Connection reset by peer", .networkConnectionLost),
    ])
    func `what the text alone tells has its code`(
        _ result: CURLcode, _ detail: String, _ code: LoadError.Code
    ) {
        #expect(LoadError(curl: result, detail: detail).code == code)
    }

    // Proves: ERR-4.
    @Test(arguments: [
        (9, LoadError.Code.serverCertificateNotYetValid), (10, .serverCertificateHasBadDate),
        (18, .serverCertificateHasUnknownRoot), (20, .serverCertificateHasUnknownRoot),
        (23, .serverCertificateUntrusted), (62, .serverCertificateUntrusted),
    ])
    func `a certificate that was not verified has the code of the verdict`(
        _ verdict: Int, _ code: LoadError.Code
    ) {
        for result in [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR] {
            #expect(LoadError(curl: result, detail: "", verification: verdict).code == code)
        }
    }

    // Proves: ERR-3, ERR-6.
    @Test func `an error shows neither query nor credentials nor what lies underneath`() throws {
        let url = try URLRecord("http://user:pass@h/p?secret=1#s")
        let underlying = LoadError.Underlying(domain: "errno", number: 2, text: "hidden detail")
        let error = LoadError(.timedOut, "It took too long.", underlying: underlying).at(url)
        #expect(error.description == "timedOut (-1001): It took too long. [http://h/p]")
        #expect(error.failingURL?.hasCredentials == false)
        #expect(error.underlying == underlying)
        #expect(error.at(try URLRecord("http://other/")).failingURL == error.failingURL)
    }
}
