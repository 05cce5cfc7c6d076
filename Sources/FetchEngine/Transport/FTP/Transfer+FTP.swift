import CCurl
import HTTPTypes

extension Transfer {
    /// Whether TLS is spoken with the origin.
    var speaksTLS: Bool {
        switch origin.scheme {
        case "https", "ftps": true
        case "ftp": speaksFTP && shared.value.ftp.encryption != .none
        default: false
        }
    }

    /// Sets the options of FTP.
    ///
    /// Connections for data are always made by us, to the address that the control connection goes to. The method
    /// never becomes a command: a GET retrieves or lists, a HEAD asks for size and date, a body is stored.
    func setFTP(_ easy: CurlHandle) {
        ccurl_set_long(easy, CURLOPT_FTP_SKIP_PASV_IP, 1)
        ccurl_set_long(easy, CURLOPT_FTPSSLAUTH, Int(CURLFTPAUTH_TLS.rawValue))
        ccurl_set_long(easy, CURLOPT_FILETIME, 1)
        let encryption =
            switch shared.value.ftp.encryption {
            case _ where origin.scheme == "ftps": CURLUSESSL_ALL
            case .none: CURLUSESSL_NONE
            case .ifOffered: CURLUSESSL_TRY
            case .required: CURLUSESSL_ALL
            }
        ccurl_set_long(easy, CURLOPT_USE_SSL, Int(encryption.rawValue))
        // On a connection that has done something else libcurl 7.88 does not get the data of a listing over TLS (425).
        if request.url.path.hasSuffix("/"), request.method != .head { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
        if let login = terms.login {
            ccurl_set_string(easy, CURLOPT_USERNAME, login.user)
            ccurl_set_string(easy, CURLOPT_PASSWORD, login.password ?? "")
        }
        if let source {
            ccurl_set_long(easy, CURLOPT_UPLOAD, 1)
            ccurl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(source.length))
        } else if request.method == .head {
            ccurl_set_long(easy, CURLOPT_NOBODY, 1)
        } else if let resumption = FTPResumption(request.headerFields) {
            ccurl_set_offset(easy, CURLOPT_RESUME_FROM_LARGE, curl_off_t(resumption.offset))
            guard let time = resumption.unchangedSince else { return }
            ccurl_set_long(easy, CURLOPT_TIMECONDITION, Int(CURL_TIMECOND_IFUNMODSINCE.rawValue))
            ccurl_set_offset(easy, CURLOPT_TIMEVALUE_LARGE, curl_off_t(time))
        }
    }

    /// Takes a header line that is not one of the target's answer.
    func takenElsewhere(headerLine line: UnsafeRawBufferPointer) -> Bool {
        guard speaksFTP else { return takeProxyLine(line) }
        received(ftpLine: line)
        return true
    }

    /// Takes a line of the control connection.
    func received(ftpLine line: UnsafeRawBufferPointer) {
        if let reply = FTPReply(line) { ftpReply = reply }
    }

    /// Makes the response from the information of libcurl: FTP has no head of its own.
    ///
    /// Called when the first bytes of the file have come, or the end without any.
    func ftpTransferBegan() {
        // For HEAD, libcurl delivers text of its own.
        guard response == nil, let easy, request.method != .head || stage == .over else { return }
        var (rest, modified): (curl_off_t, curl_off_t) = (-1, -1)
        ccurl_get_offset(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &rest)
        ccurl_get_offset(easy, CURLINFO_FILETIME_T, &modified)
        let head = FTPHead(
            path: request.url.path, isUpload: source != nil, offset: FTPResumption(request.headerFields)?.offset ?? 0,
            remainingLength: rest < 0 ? nil : Int64(rest), modified: modified < 0 ? nil : Int64(modified))
        response = Response(
            url: request.url.withoutCredentials(), status: head.status, headerFields: head.fields, httpVersion: "ftp",
            expectedContentLength: head.expectedLength)
        partition.noteChange(of: self)
    }

    /// The transfer is over, perhaps without a byte.
    func ftpTransferEnded() {
        ftpTransferBegan()
        guard let easy, let whole = response else { return }
        var isUnmet = 0
        ccurl_get_long(easy, CURLINFO_CONDITION_UNMET, &isUnmet)
        guard isUnmet != 0 else { return }
        // The file is another one by now, and nothing of it was asked for.
        response = Response(
            url: whole.url, status: .preconditionFailed, httpVersion: whole.httpVersion, expectedContentLength: 0)
    }

    /// The error that libcurl's code and the server's last reply make together.
    func ftpCode(_ result: CURLcode) -> LoadError.Code? {
        guard speaksFTP else { return nil }
        switch result {
        case CURLE_LOGIN_DENIED: return FTPFailure.code(at: .logIn, reply: ftpReply)
        case CURLE_REMOTE_ACCESS_DENIED: return FTPFailure.code(at: .changeDirectory, reply: ftpReply)
        case CURLE_REMOTE_FILE_NOT_FOUND, CURLE_FTP_COULDNT_RETR_FILE:
            return FTPFailure.code(at: .retrieve, reply: ftpReply)
        case CURLE_UPLOAD_FAILED: return FTPFailure.code(at: .store, reply: ftpReply)
        case CURLE_USE_SSL_FAILED: return .secureConnectionFailed
        default: return nil
        }
    }
}
