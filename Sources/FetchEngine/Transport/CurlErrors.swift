import CCurl
import Glibc

/// The one place where libcurl's codes become ours.
extension LoadError {
    /// The error for a transfer that libcurl ended with `result`.
    ///
    /// - Parameters:
    ///   - result: The result of libcurl; not `CURLE_OK`.
    ///   - detail: libcurl's text for this transfer. It may name hosts and addresses, so it stays underneath.
    ///   - verification: OpenSSL's verdict on the certificate, for a verification failure.
    ///   - systemError: The system's reason why no connection could be made; 0 when it gave none.
    ///   - wasSent: Whether a request was sent, so that the failure concerns its response.
    init(curl result: CURLcode, detail: String, verification: Int = 0, systemError: Int = 0, wasSent: Bool = false) {
        let isOffline = result == CURLE_COULDNT_CONNECT && systemError == Int(ENETUNREACH)
        let code =
            isOffline
            ? .notConnectedToInternet
            : Code(curl: result, detail: detail, verification: verification, wasSent: wasSent)
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(result)) : detail
        self.init(
            code, Self.message(for: code),
            underlying: Underlying(domain: "libcurl", number: Int(result.rawValue), text: text))
    }

    private static func message(for code: Code) -> String {
        switch code {
        case .timedOut: "The connection was not made in time."
        case .cannotFindHost: "The host name did not resolve."
        case .cannotConnectToHost: "No connection to the host could be made."
        case .notConnectedToInternet: "No network leads to the host."
        case .networkConnectionLost: "The connection was lost before the load was complete."
        case .badServerResponse: "The answer of the server breaks the protocol."
        case .cannotParseResponse: "The answer of the server cannot be parsed."
        case .cannotDecodeContentData: "The content coding of the answer is unknown or broken."
        case .dataLengthExceedsMaximum: "The content is larger than it may be."
        case .requestBodyStreamExhausted: "The body of the request could not be read, or not be read again."
        case .secureConnectionFailed: "No secure connection could be made."
        case .serverCertificateHasBadDate: "The certificate of the server has expired."
        case .serverCertificateNotYetValid: "The certificate of the server is not valid yet."
        case .serverCertificateHasUnknownRoot: "The certificate of the server was not issued by a known authority."
        case .serverCertificateUntrusted: "The certificate of the server is not trusted for this host."
        case .clientCertificateRejected: "The server refused the client certificate, or it cannot be used."
        case .clientCertificateRequired: "The server wants a client certificate."
        case .userAuthenticationRequired: "The server refused the user name and password."
        case .fileDoesNotExist: "The file does not exist."
        case .noPermissionsToReadFile: "The server does not let the file or folder be read."
        case .cannotCreateFile: "The server does not let the file be made."
        case .cannotWriteToFile: "What came could not be stored."
        case .resourceUnavailable: "The resource cannot be had at the moment."
        case .httpTooManyRedirects: "The server redirects too often."
        case .unsupportedURL: "The scheme of the URL is not supported."
        case .badURL: "The URL cannot be read."
        case .cancelled: "The task was cancelled."
        default: "The load failed."
        }
    }
}

extension LoadError.Code {
    init(curl result: CURLcode, detail: String, verification: Int, wasSent: Bool) {
        let particular = Self.stated(by: detail, of: result, wasSent) ?? Self.verdict(verification, of: result)
        self = particular ?? Self.table[result.rawValue] ?? .unknown
    }

    /// Some of its codes mean several things, and only the text, or the time, tells which.
    private static func stated(by detail: String, of result: CURLcode, _ wasSent: Bool) -> Self? {
        switch result {
        case CURLE_UNSUPPORTED_PROTOCOL where detail.contains("HTTP/0.9"): .cannotParseResponse
        // A status line or a first field line that is none, and a NUL in a trailer.
        case CURLE_UNSUPPORTED_PROTOCOL where wasSent, CURLE_BAD_FUNCTION_ARGUMENT where wasSent: .badServerResponse
        // A line longer than libcurl's 100 KB.
        case CURLE_OUT_OF_MEMORY where wasSent, CURLE_RECV_ERROR where detail.hasPrefix("Out of memory in chunked"):
            .dataLengthExceedsMaximum
        case CURLE_RECV_ERROR where detail.contains("chunked-encoding"): .cannotParseResponse
        // The server's alert may come in the handshake or, with TLS 1.3, after it.
        case CURLE_SSL_CONNECT_ERROR where detail.contains("alert"), CURLE_RECV_ERROR where detail.contains("alert"):
            alert(in: detail)
        default: nil
        }
    }

    /// The server's alert about the client's certificate (RFC 8446 §6.2).
    private static func alert(in detail: String) -> Self? {
        if detail.contains("certificate required") { return .clientCertificateRequired }
        let complaints = [
            "bad certificate", "unsupported certificate", "certificate revoked", "certificate expired",
            "certificate unknown", "unknown ca",
        ]
        return complaints.contains(where: detail.contains) ? .clientCertificateRejected : nil
    }

    /// OpenSSL's `X509_V_ERR_*`, as far as our codes tell them apart.
    private static func verdict(_ verification: Int, of result: CURLcode) -> Self? {
        guard result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_ISSUER_ERROR else { return nil }
        return switch verification {
        case 9: .serverCertificateNotYetValid
        case 10: .serverCertificateHasBadDate
        case 2, 18, 19, 20, 21, 27: .serverCertificateHasUnknownRoot
        default: .serverCertificateUntrusted
        }
    }

    private static let table: [CURLcode.RawValue: Self] = Dictionary(
        uniqueKeysWithValues: rows.flatMap { row in row.results.map { ($0.rawValue, row.code) } })

    /// Every code that libcurl can end a transfer with, except those that would mean that we misused it.
    private static let rows: [(code: Self, results: [CURLcode])] = [
        (.unsupportedURL, [CURLE_UNSUPPORTED_PROTOCOL]),
        (.badURL, [CURLE_URL_MALFORMAT]),
        (.cannotFindHost, [CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_FTP_CANT_GET_HOST]),
        (
            .cannotConnectToHost,
            [
                CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY, CURLE_QUIC_CONNECT_ERROR,
                CURLE_FTP_PORT_FAILED,
            ]
        ),
        (.timedOut, [CURLE_OPERATION_TIMEDOUT, CURLE_FTP_ACCEPT_TIMEOUT]),
        (.networkConnectionLost, [CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE]),
        (
            .badServerResponse,
            [
                CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_HTTP_RETURNED_ERROR,
                CURLE_RANGE_ERROR, CURLE_FTP_ACCEPT_FAILED, CURLE_FTP_WEIRD_PASS_REPLY, CURLE_FTP_WEIRD_PASV_REPLY,
                CURLE_FTP_COULDNT_SET_TYPE, CURLE_FTP_COULDNT_USE_REST, CURLE_FTP_PRET_FAILED, CURLE_QUOTE_ERROR,
                CURLE_RTSP_CSEQ_ERROR, CURLE_RTSP_SESSION_ERROR, CURLE_TFTP_ILLEGAL, CURLE_TFTP_UNKNOWNID,
            ]
        ),
        (.cannotParseResponse, [CURLE_FTP_WEIRD_227_FORMAT, CURLE_FTP_BAD_FILE_LIST]),
        (.cannotDecodeContentData, [CURLE_BAD_CONTENT_ENCODING]),
        (.dataLengthExceedsMaximum, [CURLE_FILESIZE_EXCEEDED]),
        (.requestBodyStreamExhausted, [CURLE_READ_ERROR, CURLE_SEND_FAIL_REWIND]),
        (.httpTooManyRedirects, [CURLE_TOO_MANY_REDIRECTS]),
        (.cancelled, [CURLE_ABORTED_BY_CALLBACK]),
        (
            .secureConnectionFailed,
            [
                CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_ENGINE_INITFAILED,
                CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
                CURLE_USE_SSL_FAILED, CURLE_SSH,
            ]
        ),
        (.clientCertificateRejected, [CURLE_SSL_CERTPROBLEM]),
        (.clientCertificateRequired, [CURLE_SSL_CLIENTCERT]),
        (.serverCertificateUntrusted, [CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH]),
        (
            .userAuthenticationRequired,
            [
                CURLE_LOGIN_DENIED, CURLE_AUTH_ERROR, CURLE_TFTP_NOSUCHUSER, CURLE_LDAP_CANNOT_BIND,
            ]
        ),
        (.fileDoesNotExist, [CURLE_REMOTE_FILE_NOT_FOUND, CURLE_TFTP_NOTFOUND, CURLE_FILE_COULDNT_READ_FILE]),
        (.noPermissionsToReadFile, [CURLE_REMOTE_ACCESS_DENIED, CURLE_TFTP_PERM]),
        (.cannotCreateFile, [CURLE_UPLOAD_FAILED, CURLE_REMOTE_FILE_EXISTS]),
        (.cannotWriteToFile, [CURLE_WRITE_ERROR, CURLE_REMOTE_DISK_FULL]),
        (
            .resourceUnavailable,
            [
                CURLE_FTP_COULDNT_RETR_FILE, CURLE_BAD_DOWNLOAD_RESUME, CURLE_LDAP_SEARCH_FAILED, CURLE_OUT_OF_MEMORY,
                CURLE_NO_CONNECTION_AVAILABLE, CURLE_UNRECOVERABLE_POLL, CURLE_AGAIN,
            ]
        ),
    ]
}
