import CCurl
import COpenSSL

extension Transfer {
    /// Sets versions, trust and identity (SEC-23).
    ///
    /// Verification is always on: OpenSSL asks the ``Handshake`` of each connection, and libcurl looks at the host's
    /// name once more, unless a certificate may be accepted that is not for it.
    func setTLS(_ easy: CurlHandle) {
        let tls = shared.value.tls
        // A CA directory keeps libcurl from caching the parsed bundle: 15 ms a handshake instead of 0.5.
        ccurl_set_string(easy, CURLOPT_CAPATH, nil)
        ccurl_set_pointer(easy, CURLOPT_SHARE, partition.share)
        ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1)
        ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, terms.trust.canOverride ? 0 : 2)
        ccurl_set_long(easy, CURLOPT_SSL_VERIFYSTATUS, tls.requiresStapledStatus ? 1 : 0)
        ccurl_set_long(easy, CURLOPT_SSLVERSION, tls.versions)
        if tls.applicationProtocols?.isEmpty ?? false { ccurl_set_long(easy, CURLOPT_SSL_ENABLE_ALPN, 0) }
        ccurl_set_ssl_context_function(easy, prepareHandshake)
        ccurl_set_pointer(easy, CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        setAnchors(easy, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB)
        let pins = tls.pins.filter { request.url.matches($0.hosts) }
        if !pins.isEmpty {
            let text = pins.map { "sha256//" + $0.fingerprint.base64 }.joined(separator: ";")
            ccurl_set_string(easy, CURLOPT_PINNEDPUBLICKEY, text)
        }
        if let identity = terms.identity { setIdentity(easy, identity) }
    }

    /// Sets the same for the connection to a proxy: the session's anchors decide, and no delegate is asked.
    func setProxyTLS(_ easy: CurlHandle) {
        ccurl_set_string(easy, CURLOPT_PROXY_CAPATH, nil)
        ccurl_set_long(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        ccurl_set_long(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        ccurl_set_long(easy, CURLOPT_PROXY_SSLVERSION, shared.value.tls.versions)
        ccurl_set_ssl_context_function(easy, prepareHandshake)
        ccurl_set_pointer(easy, CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        setAnchors(easy, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAINFO_BLOB)
    }

    private func setAnchors(_ easy: CurlHandle, _ file: CURLoption, _ blob: CURLoption) {
        guard case .pem(let bytes) = shared.value.tls.anchors else { return }
        ccurl_set_string(easy, file, nil)
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            ccurl_set_blob(easy, blob, base, bytes.count)
        }
    }

    /// Gives libcurl the identity from memory; it never sees a path.
    private func setIdentity(_ easy: CurlHandle, _ identity: ClientIdentity) {
        ccurl_set_string(easy, CURLOPT_SSLCERTTYPE, "PEM")
        ccurl_set_string(easy, CURLOPT_SSLKEYTYPE, "PEM")
        identity.material.chain.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            ccurl_set_blob(easy, CURLOPT_SSLCERT_BLOB, base, bytes.count)
        }
        identity.material.withKey { key in
            guard let base = key.baseAddress else { return }
            ccurl_set_blob(easy, CURLOPT_SSLKEY_BLOB, base, key.count)
        }
    }

    /// A TLS connection is about to be made; false keeps it from being made.
    func willShakeHands(in context: OpaquePointer) -> Bool {
        handshakeCount += 1
        let handshake = Handshake(handshakeTerms, through: handshakeCount == 1 ? nil : handshake)
        self.handshake = handshake
        return handshake.attach(to: context)
    }

    /// The party whose certificate comes next.
    ///
    /// On the way to a server through a proxy that speaks TLS too, every other handshake is the proxy's.
    private var handshakeTerms: Handshake.Terms {
        if let proxy = terms.proxy, proxy.kind == .https, !speaksTLS || !handshakeCount.isMultiple(of: 2) {
            return Handshake.Terms(host: proxy.host, port: proxy.port, isProxy: true)
        }
        return Handshake.Terms(
            host: origin.host, port: origin.port ?? 0, trust: terms.trust,
            revocationLists: shared.value.tls.revocationLists, hasIdentity: terms.identity != nil,
            asksForIdentity: terms.asksForIdentity)
    }

    /// Finds the handshake of a kept connection: its server's requests concern this transfer now.
    func noteHandshake() {
        guard handshake == nil, let secureConnection else { return }
        handshake = Handshake.of(secureConnection)
    }

    /// The error with the name that the proxy, the handshake or the FTP server gives it, where libcurl's code is not
    /// all there is to know.
    func connectionError(_ error: LoadError, _ result: CURLcode) -> LoadError {
        var error = error
        if let failure = proxyFailure(result) {
            (error.code, error.message) = (failure.code, failure.message)
        } else if let code = ftpCode(result) {
            (error.code, error.message) = (code, FTPFailure.message(for: code))
        } else if let handshake, let code = handshake.code(for: error.code) {
            (error.code, error.message) = (code, TLSFailure.message(for: code))
        }
        return error
    }
}

private func prepareHandshake(
    _ easy: CurlHandle?, _ context: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context, let transfer else { return CURLE_ABORTED_BY_CALLBACK }
    let isReady = Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue()
        .willShakeHands(in: OpaquePointer(context))
    return isReady ? CURLE_OK : CURLE_ABORTED_BY_CALLBACK
}

extension TLSConfiguration {
    /// The versions in libcurl's numbers.
    fileprivate var versions: Int {
        let minimum = minimumVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
        let maximum =
            switch maximumVersion {
            case nil: CURL_SSLVERSION_MAX_DEFAULT
            case .tls12: CURL_SSLVERSION_MAX_TLSv1_2
            case .tls13: CURL_SSLVERSION_MAX_TLSv1_3
            }
        return minimum | maximum
    }
}
