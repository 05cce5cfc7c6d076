import CCurl

/// The one place where libcurl's codes become ours.
extension LoadError {
    /// The error for a transfer that libcurl ended with `result`.
    ///
    /// - Parameters:
    ///   - result: What libcurl reported; not `CURLE_OK`.
    ///   - detail: libcurl's text for this transfer. It may name hosts and addresses, so it stays underneath.
    ///   - verification: OpenSSL's verdict on the certificate, for a verification failure.
    init(curl result: CURLcode, detail: String, verification: Int = 0) {
        let code = Code(curl: result, detail: detail, verification: verification)
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
        case .networkConnectionLost: "The connection was lost before the load was complete."
        case .badServerResponse: "The answer of the server breaks the protocol."
        case .cannotParseResponse: "The answer of the server cannot be parsed."
        case .secureConnectionFailed: "No secure connection could be made."
        case .serverCertificateHasBadDate: "The certificate of the server has expired."
        case .serverCertificateNotYetValid: "The certificate of the server is not valid yet."
        case .serverCertificateHasUnknownRoot: "The certificate of the server was not issued by a known authority."
        case .serverCertificateUntrusted: "The certificate of the server is not trusted for this host."
        case .unsupportedURL: "The scheme of the URL is not supported."
        case .badURL: "The URL cannot be read."
        case .cancelled: "The task was cancelled."
        default: "The load failed."
        }
    }
}

extension LoadError.Code {
    init(curl result: CURLcode, detail: String, verification: Int) {
        switch result {
        // Two of its codes mean several things, and only the text tells which.
        case CURLE_UNSUPPORTED_PROTOCOL where detail.contains("HTTP/0.9"): self = .cannotParseResponse
        case CURLE_RECV_ERROR where detail.contains("chunked-encoding"): self = .cannotParseResponse
        case CURLE_UNSUPPORTED_PROTOCOL: self = .unsupportedURL
        case CURLE_URL_MALFORMAT: self = .badURL
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .cannotFindHost
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: self = .cannotConnectToHost
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            self = .networkConnectionLost
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM: self = .badServerResponse
        case CURLE_BAD_CONTENT_ENCODING: self = .cannotDecodeContentData
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_ENGINE_INITFAILED:
            self = .secureConnectionFailed
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: self = .init(verification: verification)
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE: self = .secureConnectionFailed
        case CURLE_SSL_CERTPROBLEM: self = .clientCertificateRejected
        case CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH: self = .serverCertificateUntrusted
        case CURLE_SSL_CLIENTCERT: self = .clientCertificateRequired
        case CURLE_WRITE_ERROR, CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK: self = .unknown
        default: self = .unknown
        }
    }

    /// OpenSSL's `X509_V_ERR_*`, as far as our codes tell them apart.
    private init(verification: Int) {
        switch verification {
        case 9: self = .serverCertificateNotYetValid
        case 10: self = .serverCertificateHasBadDate
        case 2, 18, 19, 20, 21, 27: self = .serverCertificateHasUnknownRoot
        default: self = .serverCertificateUntrusted
        }
    }
}
