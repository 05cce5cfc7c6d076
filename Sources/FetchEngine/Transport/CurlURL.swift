import CCurl

/// How libcurl reads a URL.
enum CurlURL {
    /// Scheme, host and port as libcurl would use them, or nil when it cannot read the text.
    static func origin(of text: String) -> URLRecord.Origin? {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME, of: url), let host = part(CURLUPART_HOST, of: url)
        else { return nil }
        let port = part(CURLUPART_PORT, of: url, UInt32(CURLU_DEFAULT_PORT))
        return URLRecord.Origin(scheme: scheme, host: host, port: port.flatMap { UInt16($0) })
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
