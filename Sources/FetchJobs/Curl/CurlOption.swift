/// An option of curl, and what a job makes of it.
struct CurlOption: Sendable {
    enum Meaning: Sendable {
        /// Part of the request, or of how it is made.
        case request(CurlDraft.Part)
        /// It makes no difference to the request; the text tells what takes its place.
        case leftOut(String?)
        /// The text tells why no job can say it, and what to do.
        case refused(String)
    }

    let name: String
    let letter: Character?
    let takesValue: Bool
    let meaning: Meaning

    static func named(_ name: String) -> CurlOption? { byName[name] }

    static func abbreviated(_ letter: Character) -> CurlOption? { byLetter[letter] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    private static let byLetter = Dictionary(all.compactMap { option in option.letter.map { ($0, option) } }) {
        first, _ in first
    }

    private static func flag(_ name: String, _ letter: Character? = nil, _ meaning: Meaning) -> CurlOption {
        CurlOption(name: name, letter: letter, takesValue: false, meaning: meaning)
    }

    private static func value(_ name: String, _ letter: Character? = nil, _ meaning: Meaning) -> CurlOption {
        CurlOption(name: name, letter: letter, takesValue: true, meaning: meaning)
    }

    private static let all = request + leftOut + refused

    private static let request: [CurlOption] = [
        value("url", nil, .request(.url)),
        value("request", "X", .request(.method)),
        value("header", "H", .request(.header)),
        value("user-agent", "A", .request(.userAgent)),
        value("referer", "e", .request(.referer)),
        value("cookie", "b", .request(.cookie)),
        value("data", "d", .request(.data)),
        value("data-ascii", nil, .request(.data)),
        value("data-binary", nil, .request(.data)),
        value("data-raw", nil, .request(.rawData)),
        value("data-urlencode", nil, .request(.encodedData)),
        value("json", nil, .request(.json)),
        value("url-query", nil, .request(.query)),
        flag("get", "G", .request(.get)),
        flag("head", "I", .request(.head)),
        value("form", "F", .request(.form)),
        value("form-string", nil, .request(.formString)),
        value("range", "r", .request(.range)),
        value("user", "u", .request(.user)),
        value("oauth2-bearer", nil, .request(.bearer)),
        flag("basic", nil, .request(.authentication("basic"))),
        flag("digest", nil, .request(.authentication("digest"))),
        flag("ntlm", nil, .request(.authentication("ntlm"))),
        flag("anyauth", nil, .request(.anyAuthentication)),
        flag("location", "L", .request(.follow)),
        flag("no-location", nil, .request(.stay)),
        value("max-redirs", nil, .request(.maximumRedirects)),
        value("max-time", "m", .request(.maximumTime)),
        value("connect-timeout", nil, .request(.connectTimeout)),
        value("proxy", "x", .request(.proxy("http"))),
        value("socks4", nil, .request(.proxy("socks4"))),
        value("socks4a", nil, .request(.proxy("socks4a"))),
        value("socks5", nil, .request(.proxy("socks5"))),
        value("socks5-hostname", nil, .request(.proxy("socks5h"))),
        value("proxy-user", "U", .request(.proxyUser)),
        value("noproxy", nil, .request(.noProxy)),
        value("retry", nil, .request(.retries)),
        flag("http1.1", nil, .request(.httpVersion("1.1"))),
        flag("http2", nil, .request(.httpVersion("automatic"))),
        flag("tlsv1.2", nil, .request(.minimumTLS("1.2"))),
        flag("tlsv1.3", nil, .request(.minimumTLS("1.3"))),
        flag("ipv4", "4", .request(.addressFamily("ipv4"))),
        flag("ipv6", "6", .request(.addressFamily("ipv6"))),
        flag("compressed", nil, .request(.compressed)),
        flag("globoff", "g", .request(.globOff)),
    ]

    private static let terminal = "the service keeps the response"
    private static let leftOut: [CurlOption] =
        [
            ("silent", "s"), ("show-error", "S"), ("verbose", "v"), ("progress-bar", "#"), ("no-buffer", "N"),
            ("disable", "q"),
        ].map { flag($0, $1, .leftOut(nil)) }
        + [
            "no-progress-meter", "styled-output", "no-styled-output", "tcp-nodelay", "no-keepalive", "tcp-fastopen",
            "ssl-reqd", "path-as-is", "no-compressed", "no-alpn", "create-dirs", "clobber", "no-clobber",
        ]
        .map { flag($0, nil, .leftOut(nil)) }
        + [
            flag("include", "i", .leftOut("the job tells the header fields of the response")),
            flag("fail", "f", .leftOut("a job succeeds with any status; its response tells the status")),
            flag("fail-with-body", nil, .leftOut("a job succeeds with any status; its response tells the status")),
            flag("fail-early", nil, .leftOut(nil)),
            flag("remote-name", "O", .leftOut(terminal)),
            flag("remote-name-all", nil, .leftOut(terminal)),
            flag("remote-header-name", "J", .leftOut(terminal)),
            flag("remote-time", "R", .leftOut(terminal)),
            value("output", "o", .leftOut(terminal)),
            value("output-dir", nil, .leftOut(terminal)),
            value("dump-header", "D", .leftOut("the job tells the header fields of the response")),
            value("write-out", "w", .leftOut("the job tells what was measured")),
            value("stderr", nil, .leftOut(nil)),
            value("trace", nil, .leftOut("the job tells what was measured")),
            value("trace-ascii", nil, .leftOut("the job tells what was measured")),
            value("keepalive-time", nil, .leftOut(nil)),
        ]

    private static let file = "is in a file, which is not part of the command: store it as a blob (POST /v1/blobs)."
    private static let chosen = "the service chooses addresses itself, and guards them."
    private static let refused: [CurlOption] = [
        flag(
            "insecure", "k",
            .refused(
                "certificates are always verified. Trust the server's authority by configuration.serverTrust.anchors.")),
        flag("proxy-insecure", nil, .refused("certificates are always verified.")),
        value("cacert", nil, .refused("the authority \(file) Its PEM goes into configuration.serverTrust.anchors.")),
        value("capath", nil, .refused("the authorities are in a directory of yours.")),
        value("cert", "E", .refused("the certificate is in a file: store it as a credential (POST /v1/credentials).")),
        value("key", nil, .refused("the key is in a file: store it as a credential (POST /v1/credentials).")),
        value("pass", nil, .refused("the key is in a file: store it as a credential (POST /v1/credentials).")),
        value("cert-type", nil, .refused("the certificate is in a file: store it as a credential.")),
        value("key-type", nil, .refused("the key is in a file: store it as a credential.")),
        value("pinnedpubkey", nil, .refused("pins go into configuration.serverTrust.pins.")),
        value("ciphers", nil, .refused("the service chooses cipher suites itself.")),
        value("upload-file", "T", .refused("the content \(file)")),
        value("cookie-jar", "c", .refused("a session keeps cookies: name one by the job's member session.")),
        flag("junk-session-cookies", "j", .refused("a session keeps cookies: name one by the job's member session.")),
        value("config", "K", .refused("its options are in a file, which is not part of the command.")),
        flag("netrc", "n", .refused("its logins are in a file: store them as credentials (POST /v1/credentials).")),
        value("netrc-file", nil, .refused("its logins are in a file: store them as credentials.")),
        flag("negotiate", nil, .refused("store a credential with a keytab (POST /v1/credentials).")),
        value("aws-sigv4", nil, .refused("store a credential with accessKeyID and secretAccessKey.")),
        flag("next", ":", .refused("a job is one request: read each of them by itself.")),
        flag("parallel", "Z", .refused("a job is one request: read each of them by itself.")),
        value("resolve", nil, .refused(chosen)), value("connect-to", nil, .refused(chosen)),
        value("interface", nil, .refused(chosen)), value("dns-servers", nil, .refused(chosen)),
        value("doh-url", nil, .refused(chosen)), value("unix-socket", nil, .refused(chosen)),
        value("abstract-unix-socket", nil, .refused(chosen)), value("local-port", nil, .refused(chosen)),
        value("continue-at", "C", .refused("a download goes on by resumeFrom, with the partial file of another job.")),
        value("time-cond", "z", .refused("send If-Modified-Since by -H.")),
        value("limit-rate", nil, .refused("bandwidth is limited for hosts and flows (PUT /v1/hosts/{host}).")),
        value("speed-limit", "Y", .refused("say how long an answer may stay away by configuration.timeouts.")),
        value("speed-time", "y", .refused("say how long an answer may stay away by configuration.timeouts.")),
        value("max-filesize", nil, .refused("say it by configuration.response.maximumBytes.")),
        value("retry-delay", nil, .refused("say it by configuration.retry.backoff.")),
        value("retry-max-time", nil, .refused("say it by the job's member expiresAt.")),
        flag("retry-all-errors", nil, .refused("say which by configuration.retry.errors.")),
        flag("retry-connrefused", nil, .refused("say which by configuration.retry.errors.")),
        flag(
            "location-trusted", nil, .refused("say which hosts by configuration.redirects.forwardCredentialsToHosts.")),
        flag("post301", nil, .refused("say it by configuration.redirects.preserveMethod.")),
        flag("post302", nil, .refused("say it by configuration.redirects.preserveMethod.")),
        flag("post303", nil, .refused("say it by configuration.redirects.preserveMethod.")),
        value("request-target", nil, .refused("the target is that of the URL.")),
        value("proto", nil, .refused("an operator says which schemes may be loaded.")),
        value("proto-redir", nil, .refused("an operator says which schemes may be loaded.")),
        value("proto-default", nil, .refused("write the scheme of the URL.")),
        flag("http1.0", "0", .refused("requests are HTTP/1.1 or HTTP/2.")),
        flag("http2-prior-knowledge", nil, .refused("HTTP/2 is agreed on by TLS.")),
        flag("http3", nil, .refused("requests are HTTP/1.1 or HTTP/2.")),
        flag("http3-only", nil, .refused("requests are HTTP/1.1 or HTTP/2.")),
        flag("tlsv1", "1", .refused("TLS is 1.2 or 1.3.")), flag("tlsv1.0", nil, .refused("TLS is 1.2 or 1.3.")),
        flag("tlsv1.1", nil, .refused("TLS is 1.2 or 1.3.")),
        value("tls-max", nil, .refused("say it by configuration.tls.maximumVersion.")),
        value("proxy-header", nil, .refused("fields for proxies cannot be set.")),
        flag("proxytunnel", "p", .refused("https goes through a proxy by a tunnel, http does not.")),
        value("preproxy", nil, .refused("there is one proxy on the way.")),
        value("proxy1.0", nil, .refused("proxies are spoken to in HTTP/1.1.")),
        flag("proxy-digest", nil, .refused("the proxy says which scheme it takes.")),
        flag("proxy-basic", nil, .refused("the proxy says which scheme it takes.")),
        flag("proxy-ntlm", nil, .refused("the proxy says which scheme it takes.")),
        flag("proxy-anyauth", nil, .refused("the proxy says which scheme it takes.")),
        value("quote", "Q", .refused("commands of FTP cannot be sent.")),
        flag("list-only", "l", .refused("an ftp URL that ends with a slash is a list.")),
        flag("append", "a", .refused("an upload replaces what is there.")),
        value("expect100-timeout", nil, .refused("say whether Expect is sent by configuration.upload.expectContinue.")),
        flag("raw", nil, .refused("send Accept-Encoding by -H: the response then comes as the server sends it.")),
        flag("help", "h", .refused("it asks curl for help, and makes no request.")),
        flag("version", "V", .refused("it asks curl for its version, and makes no request.")),
    ]
}
