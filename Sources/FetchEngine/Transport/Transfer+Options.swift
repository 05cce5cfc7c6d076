import CCurl
import HTTPTypes

extension Transfer {
    /// Makes the easy handle with all options that limit it (SEC-22, SEC-23).
    ///
    /// No option's name or value comes from a request except the URL, the method and the fields.
    func makeHandle() throws(LoadError) {
        guard let easy = curl_easy_init() else { throw LoadError(.unknown, "No transfer could be made.") }
        self.easy = easy
        let context = Unmanaged.passUnretained(self).toOpaque()
        setFixedOptions(easy, context)
        setCallbacks(easy, context)
        try setTarget(easy)
        setProxy(easy)
        setProxyAuthorization(easy)
        try setNetwork(easy)
        if speaksTLS { setTLS(easy) }
        guard !speaksFTP else { return setFTP(easy) }
        setAuthorization(easy)
        setMethodAndBody(easy)
        setFields(easy)
    }

    private func setFixedOptions(_ easy: CurlHandle, _ context: UnsafeMutableRawPointer) {
        ccurl_set_pointer(easy, CURLOPT_PRIVATE, context)
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        text.pointee = 0
        errorText = text
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, text)
        ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        origin.scheme.withCString { _ = ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, $0) }
        ccurl_set_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        ccurl_set_long(easy, CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        ccurl_set_long(easy, CURLOPT_HTTP09_ALLOWED, 0)
        ccurl_set_long(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
        ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        ccurl_set_long(easy, CURLOPT_TCP_NODELAY, 1)
        // A look-up that is given up is left to its thread; libcurl would make the whole loop wait for it to end.
        ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        ccurl_set_long(
            easy, CURLOPT_BUFFERSIZE,
            state.leavesBody ? Partition.receiveBufferSizeWhileUndecided : Partition.receiveBufferSize)
        ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, shared.value.connectTimeout.wholeMilliseconds))
    }

    private func setCallbacks(_ easy: CurlHandle, _ context: UnsafeMutableRawPointer) {
        ccurl_set_header_function(easy, receiveHeaderLine)
        ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        ccurl_set_write_function(easy, receiveBody)
        ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        ccurl_set_prerequest_function(easy, prepareRequest)
        ccurl_set_pointer(easy, CURLOPT_PREREQDATA, context)
        if recordsFields {
            ccurl_set_debug_function(easy, readSentHead)
            ccurl_set_pointer(easy, CURLOPT_DEBUGDATA, context)
        }
        ccurl_set_open_socket_function(easy, openSocket)
        ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context)
        // Asked by the connection, which outlives the transfer.
        ccurl_set_close_socket_function(easy, closeSocket)
        ccurl_set_pointer(
            easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(partition.connections).toOpaque())
        // A partition that never rests closes unused connections, too.
        if partition.descriptors.budget.isScarce { ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, 1) }
        if needsNewConnection { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
        guard source != nil else { return }
        ccurl_set_read_function(easy, sendBody)
        ccurl_set_pointer(easy, CURLOPT_READDATA, context)
        ccurl_set_seek_function(easy, rewindBody)
        ccurl_set_pointer(easy, CURLOPT_SEEKDATA, context)
    }

    private func setTarget(_ easy: CurlHandle) throws(LoadError) {
        let text = request.url.withoutCredentials().withoutFragment().description
        try partition.confirm(text, of: origin)
        guard text.withCString({ ccurl_set_string(easy, CURLOPT_URL, $0) }) == CURLE_OK else {
            throw LoadError(.badURL, "The URL cannot be loaded.")
        }
        // libcurl leaves an empty query out of its request to a proxy.
        if terms.httpProxy != nil, !isTunnelled, request.url.query?.isEmpty == true {
            ccurl_set_string(easy, CURLOPT_REQUEST_TARGET, text)
        }
        let version =
            switch httpVersion {
            case .automatic: CURL_HTTP_VERSION_2TLS
            case .http1: CURL_HTTP_VERSION_1_1
            case .http2: isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
            }
        ccurl_set_long(easy, CURLOPT_HTTP_VERSION, version)
        guard isSecure, httpVersion != .http1 else { return }
        ccurl_set_long(easy, CURLOPT_PIPEWAIT, 1)
        // HTTP/2 knows weights from 1 to 256.
        ccurl_set_long(easy, CURLOPT_STREAM_WEIGHT, 1 + Int(priority * 255))
    }

    /// The version that is asked for; over TLS it is one that may be offered.
    private var httpVersion: HTTPVersionPolicy {
        let offered = shared.value.tls.applicationProtocols
        return isSecure && offered?.contains(.http2) == false ? .http1 : shared.value.httpVersion
    }

    private func setMethodAndBody(_ easy: CurlHandle) {
        let method = request.method.rawValue
        if let source {
            // libcurl's PUT is its one way to send any body with any method, and adds no field of its own.
            ccurl_set_long(easy, CURLOPT_UPLOAD, 1)
            ccurl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(source.length))
            if method != "PUT" { ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, method) }
        } else if method == "HEAD" {
            ccurl_set_long(easy, CURLOPT_NOBODY, 1)
        } else if method != "GET" {
            ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, method)
        }
    }

    private func setFields(_ easy: CurlHandle) {
        if offersCodings {
            append(shared.value.offersContentCodings ? ContentCoding.offer : "Accept-Encoding: identity")
        }
        for field in request.headerFields
        where field.name != .expect && field.name != .cookie && !isReplaced(field.name) { append(field) }
        // HTTP/1.1 allows one Cookie line only (RFC 6265 §5.4).
        if request.headerFields.contains(.cookie) {
            let cookies = CookieField(request.headerFields[fields: .cookie]).value
            if !cookies.isEmpty { append(HTTPField(name: .cookie, lenientValue: cookies)) }
        }
        if let source {
            expectsContinue = expectsContinue(length: source.length)
            // libcurl adds the field by itself.
            if !expectsContinue { append("Expect:") }
        }
        if let fieldList { ccurl_set_headers(easy, fieldList) }
    }

    private func expectsContinue(length: Int64) -> Bool {
        guard length != 0, !neverExpects else { return false }
        switch shared.value.expectContinue {
        case .always: return true
        case .automatic where length >= 1024 * 1024: return true
        case .automatic, .never: return request.headerFields.contains(.expect)
        }
    }

    func append(_ field: HTTPField) {
        let isEmpty = field.withUnsafeBytesOfValue { $0.isEmpty }
        guard !isEmpty else { return append(field.name.rawName + ";") }
        var line = Array(field.name.rawName.utf8)
        line.append(contentsOf: ": ".utf8)
        field.withUnsafeBytesOfValue { line.append(contentsOf: $0) }
        line.append(0)
        line.withUnsafeBytes { bytes in
            guard let text = bytes.bindMemory(to: CChar.self).baseAddress else { return }
            fieldList = curl_slist_append(fieldList, text)
        }
    }

    private func append(_ line: String) { fieldList = line.withCString { curl_slist_append(fieldList, $0) } }
}

extension Duration {
    /// Whole milliseconds.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds.multipliedReportingOverflow(by: 1000).partialValue)
            + Int(attoseconds / 1_000_000_000_000_000)
    }
}
