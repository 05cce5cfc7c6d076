import CCurl

/// How libcurl reads a date.
enum CurlDate {
    /// Seconds since 1970, or nil for what is no date; all three forms of RFC 9110 §5.6.7 are read.
    static func seconds(_ text: String) -> Int64? {
        let seconds = curl_getdate(text, nil)
        return seconds < 0 ? nil : Int64(seconds)
    }
}
