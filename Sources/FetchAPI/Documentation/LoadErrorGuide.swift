import FetchJobs

/// What the page of a load error says.
///
/// The names are those of `error.name` of a job; ``FetchJobs/LoadErrorKind`` has the list.
struct LoadErrorGuide {
    /// What has happened, and why.
    let cause: String
    /// What to do.
    let advice: String

    private init(_ cause: String, _ advice: String) {
        self.cause = cause
        self.advice = advice
    }

    static func of(_ name: String) -> LoadErrorGuide? {
        (network[name] ?? tls[name] ?? proxies[name] ?? content[name] ?? targets[name] ?? requests[name] ?? own[name])
            .map { LoadErrorGuide($0.0, $0.1) }
    }

    private typealias Texts = [String: (String, String)]

    private static let network: Texts = [
        "timedOut": (
            "No byte moved for as long as `timeouts.timeoutIntervalForRequest` allows, no connection stood within `timeouts.connect`, or the whole load took longer than `timeouts.timeoutIntervalForResource`. The message says which.",
            "The waterfall of the attempt shows where the time went. Where the origin is slow, raise that timeout; where many jobs go to one host, lower how many run at once. `retry` tries again by itself."
        ),
        "cannotFindHost": (
            "The name service says that the host name does not exist, or has no address of the kind that `connections.addressFamily` asks for.",
            "Look at how the name is written. A name that has just been made may need minutes to be known everywhere; names of a private network are not resolved unless the operator allows it."
        ),
        "cannotConnectToHost": (
            "None of the host's addresses has accepted a connection: the port is closed, a firewall drops the packets, or the host is down.",
            "Try host and port from the same network with another client. When the origin is being restarted, a later attempt succeeds."
        ),
        "networkConnectionLost": (
            "The connection was open, and ended before the response was complete: the origin or something on the path closed or reset it.",
            "A download can go on from what it has: `error.resumeData` names it. A request that is not idempotent is repeated only where `retry.replayUnsafe` allows it, because the origin may have acted on it."
        ),
        "dnsLookupFailed": (
            "The name service itself did not answer, or answered that it failed; nothing is known of the name.",
            "It is the resolver of the node that fails, not the origin: tell the operator when it goes on."
        ),
        "notConnectedToInternet": (
            "The node has no route to any network.",
            "Tell the operator. With `connections.waitsForConnectivity` the load waits for a network instead."
        ),
        "cannotLoadFromNetwork": (
            "The configuration of the load does not let it use the network that there is.",
            "Change the configuration, or load from the cache alone on purpose (`requestCachePolicy`)."
        ),
        "resourceUnavailable": (
            "The job asked for the cache alone (`returnCacheDataDontLoad`), and nothing is stored for the request; or a server other than one of http says that it cannot give the resource now.",
            "Use another `requestCachePolicy`, or store a response first. Explain the URL to see what the cache has."
        ),
        "badServerResponse": (
            "What the server sent breaks its protocol: a status line that is none, framing that contradicts itself, an HTTP/2 error, or a response where none is due.",
            "Repeat the request with `connections.httpVersion` 1.1 to see whether only one version is broken, and tell whoever runs the origin."
        ),
        "cannotParseResponse": (
            "The header section or the chunked coding of the response cannot be read.",
            "Look at the bytes with another client. Proxies that rewrite responses cause it too."
        ),
        "zeroByteResource": (
            "The server announced content and closed without sending any.",
            "It is a fault of the origin, often for a moment: the load is tried again as `retry` says."
        ),
        "unknown": (
            "The load failed in a way that has no name here; the operators are shown what the library below has reported.",
            "Report it to them with the id of the job."
        ),
    ]

    private static let tls: Texts = [
        "secureConnectionFailed": (
            "The TLS handshake ended without a connection: no common version or cipher, an alert, or a connection that was cut.",
            "Compare the versions that the origin speaks with `tls.minimumVersion` and `tls.maximumVersion`. Where a certificate is to blame the error has its own name."
        ),
        "serverCertificateHasBadDate": (
            "A certificate of the server's chain has expired.",
            "The origin has to renew it. Where the load must go on meanwhile, a delegate can accept exactly this chain (`didReceiveServerTrust`), or a pin can."
        ),
        "serverCertificateUntrusted": (
            "The chain does not lead to this host: the certificate names others, is revoked, or does not fit a pin of `serverTrust`.",
            "Compare the names in the certificate, which the attempt shows, with the host of the URL. When it was replaced on purpose, change the pin."
        ),
        "serverCertificateHasNoName": (
            "The certificate names its host in the common name alone. Names are taken from subjectAltName only (RFC 9525).",
            "The origin needs a certificate with a subjectAltName; every authority issues them so."
        ),
        "serverCertificateHasUnknownRoot": (
            "The chain ends at an authority that is not trusted: one of a company, a self-signed certificate, or a server that leaves out an intermediate certificate.",
            "Name the authority in `serverTrust`, or have the origin send its whole chain."
        ),
        "serverCertificateNotYetValid": (
            "The certificate begins to be valid in the future, by the clock of the node.",
            "Compare the clock of the node with the certificate's first day. One that was issued a minute ago is a matter of waiting."
        ),
        "clientCertificateRejected": (
            "The server has looked at the client certificate and does not accept it: another authority, expired, revoked, or without the right purpose.",
            "Store a credential with a certificate that this server knows."
        ),
        "clientCertificateRequired": (
            "The server asks for a client certificate, and no stored credential for its protection space has one.",
            "Store a credential with `certificateChain` and `privateKey`, or `pkcs12`, for this server."
        ),
        "clientIdentityInvalid": (
            "The certificate and the key of a credential cannot be read, the password is wrong, or the key is another certificate's.",
            "Store the credential again with the right key and password."
        ),
        "clientIdentityTooCostly": (
            "Decrypting the key takes more rounds, or signing with it more work, than a shared service can spend for one job.",
            "Encrypt the key with fewer rounds, or use a key of a common size."
        ),
        "revocationListInvalid": (
            "A list of revoked certificates that the configuration names cannot be read, or its signature is wrong.",
            "Replace the list in `serverTrust` by one of the authority's."
        ),
    ]

    private static let proxies: Texts = [
        "proxyInvalid": (
            "The URL of the proxy has a scheme, a host or a port that a proxy cannot have.",
            "Write it as http, https, socks4, socks4a, socks5 or socks5h, a host and a port."
        ),
        "proxyForbidden": (
            "The operator's policy does not let jobs use this proxy, or not for this target.",
            "Use a proxy that is allowed, or none; only an operator can change the policy."
        ),
        "cannotFindProxy": (
            "The host name of the proxy does not resolve.",
            "Look at how `proxy.url` is written."
        ),
        "cannotConnectToProxy": (
            "The proxy did not accept a connection, or TLS with it failed.",
            "Try the proxy with another client. The origin was not asked."
        ),
        "proxyRefusedConnection": (
            "The proxy was reached and does not connect to the target: its rules forbid the host or the port.",
            "Ask whoever runs the proxy, or name the host in `proxy.noProxy`."
        ),
        "proxyCouldNotConnect": (
            "The proxy tried and failed to reach the target (a status of 500 to 599).",
            "The origin may be down as seen from the proxy; the load is tried again as `retry` says."
        ),
        "proxyAuthenticationRequired": (
            "The proxy asks who is there (407), and was shown no credential or a wrong one.",
            "Set `proxy.credential` to one that the proxy knows."
        ),
        "badProxyResponse": (
            "What the proxy sent is not the protocol that `proxy.url` names.",
            "Look at the scheme: an http proxy does not speak SOCKS, and the other way round."
        ),
    ]

    private static let content: Texts = [
        "cannotDecodeRawData": (
            "The bytes arrived, and could not be read as what they claim to be, such as a file that `response.decode` names.",
            "Leave that format out of `response.decode`, and look at the file."
        ),
        "cannotDecodeContentData": (
            "The Content-Encoding of the response is unknown, or the encoded bytes are damaged or would become too many.",
            "Ask for the content as it is: send Accept-Encoding: identity."
        ),
        "contentDigestMismatch": (
            "The SHA-256 of the content is not the one that the response or the job names.",
            "The bytes were changed on their way, or the file was replaced: compare with whoever publishes the digest."
        ),
        "dataLengthExceedsMaximum": (
            "The body is longer than `response.maximumBytes`, or the header section longer than any may be; in an ephemeral session, the body has more than 16 MiB, or the tenant has as much memory of the node as it may.",
            "Raise `response.maximumBytes`, or ask for a part with a Range field."
        ),
        "downloadDecodingFailedMidStream": (
            "A downloaded file stopped being of the format that it began as.",
            "Download it without `response.decode`; it may be cut or damaged at the origin."
        ),
        "downloadDecodingFailedToComplete": (
            "A downloaded file ended before its format says that it does.",
            "Download it without `response.decode`; it may be cut at the origin."
        ),
        "cannotCreateFile": (
            "The file of a download could not be made on the node.",
            "Tell the operator: the disk or its permissions are to blame."
        ),
        "cannotOpenFile": (
            "A file that belongs to the load could not be opened on the node.",
            "Tell the operator: the disk or its permissions are to blame."
        ),
        "cannotCloseFile": (
            "The last bytes of a file could not be brought to the disk of the node.",
            "Tell the operator; the disk may be full or failing."
        ),
        "cannotWriteToFile": (
            "The bytes of the body could not be written on the node.",
            "Tell the operator; the disk is probably full."
        ),
        "cannotRemoveFile": (
            "A file that a download was to replace could not be removed.",
            "Choose another name for the download."
        ),
        "cannotMoveFile": (
            "A finished download could not be put in its place.",
            "Choose another name, or tell the operator."
        ),
        "uploadRefused": (
            "The server was reached and does not take the upload: the account may not write there, or the quota is used up.",
            "Look at the rights of the account, and at the path of the URL."
        ),
    ]

    private static let targets: Texts = [
        "addressForbidden": (
            "The host has an address that is not public, such as one of a private network, this machine or a cloud's metadata service. Jobs may not reach those, whoever asks.",
            "Use a public address. An operator can allow networks."
        ),
        "hostForbidden": (
            "The host name is one of those that mean a private network, such as `localhost` or `*.internal`.",
            "Use the public name of the host."
        ),
        "portForbidden": (
            "The port belongs to another protocol, such as mail or a database, and a request of HTTP could be taken for one of that.",
            "Serve the resource at a port of HTTP, or ask the operator to allow this one."
        ),
        "schemeForbidden": (
            "The operator does not allow URLs of this scheme.",
            "Use https or http. `ftp`, `file` and others have to be switched on by the operator."
        ),
        "egressDenied": (
            "A rule in the operator's list denies this target; the message has the rule's name where it has one.",
            "Ask the operator. The rules are for all tenants or for yours."
        ),
        "egressNotAllowed": (
            "The operator allows a list of targets only, and this is none of them.",
            "Ask the operator to add the host."
        ),
        "redirectTargetForbidden": (
            "The origin redirects to a place where the job may not go: a forbidden address or host, or one outside of `redirects.allowedHosts`.",
            "`redirects` of the job shows where it led. Extend `allowedHosts`, or take the redirect as the response with the policy `return`."
        ),
        "redirectDowngrade": (
            "The origin redirects from https to http, which would show the request to everybody on the path.",
            "Have the origin redirect to https, or set `redirects.allowHTTPSToHTTP`."
        ),
        "redirectRefused": (
            "The origin redirects, and `redirects.policy` is `fail`.",
            "Use the URL that it leads to, or another policy."
        ),
        "httpTooManyRedirects": (
            "There were more redirects than `redirects.maximum`, which mostly is a loop: a cookie that is not kept, or http and https leading to each other.",
            "`redirects` of the job shows the loop. Where a cookie ends it, the job needs a jar (`cookies.jar`)."
        ),
        "redirectToNonExistentLocation": (
            "The redirect has a Location that is no URL, or one that nothing loads.",
            "Take the redirect as the response with the policy `return`, and tell whoever runs the origin."
        ),
        "urlInvalid": (
            "The text is not a URL, or one that programs read differently, which could be used to get past a check.",
            "Percent-encode what is not allowed in a URL."
        ),
        "urlTooLong": (
            "The URL has more than 16 KiB.",
            "Send the data in the body."
        ),
        "hostSingleLabel": (
            "The host name has no dot, so it means something else on every network.",
            "Write the whole domain name."
        ),
        "hostPercentEncoded": (
            "The host is written with percent escapes, which programs read differently.",
            "Write the name itself, as its owner publishes it."
        ),
        "hostTrailingDot": (
            "The host name ends in a dot, which certificates and cookies do not have.",
            "Leave out the dot at the end of the name."
        ),
        "hostNonCanonicalIP": (
            "The host is an IPv4 address in an old form, such as octal, hexadecimal or one number.",
            "Write four decimal numbers."
        ),
        "hostZoneID": (
            "The IPv6 address has a zone, which means an interface of one machine.",
            "Write the address without it."
        ),
    ]

    private static let requests: Texts = [
        "badURL": (
            "The URL cannot be read, or has no host.",
            "Percent-encode what is not allowed in a URL, and write its scheme."
        ),
        "unsupportedURL": (
            "Nothing here loads URLs of this scheme, neither the service nor a registered protocol.",
            "Look at `GET /v1/protocols`; other schemes have to be switched on by the operator."
        ),
        "headerInvalid": (
            "A header field has a name that is no token, or a value with control characters.",
            "Correct the field. Line breaks in values are the usual reason."
        ),
        "headerForbidden": (
            "The field belongs to the service, as `Host`, `Content-Length` and `Connection` do.",
            "Leave the field out: it is sent with the right value."
        ),
        "methodInvalid": (
            "The method is no token, too long, or one that is not allowed, such as CONNECT.",
            "Use a method that a job may have, such as GET or POST."
        ),
        "userCancelledAuthentication": (
            "The server asked for a credential, and the answer was to cancel: by a delegate, or by `authentication.onFailure`.",
            "Store a credential that the server accepts, or let the refusal be the response (`performDefaultHandling`)."
        ),
        "userAuthenticationRequired": (
            "The load cannot go on without a credential, and there is none for this protection space.",
            "Store one with `POST /v1/credentials`, or name it in `authentication.credential`."
        ),
        "requestBodyStreamExhausted": (
            "The body has to be sent again, after a redirect, a challenge or a lost connection, and it was streamed by the client, who gave no new one.",
            "Send the body as a blob, which can be sent again, or answer the question `needNewBodyStream`."
        ),
        "fileDoesNotExist": (
            "The file that the URL or the request names does not exist.",
            "Look at the path; a blob may have expired."
        ),
        "fileIsDirectory": (
            "The URL names a directory where a file is needed.",
            "Name a file in it, or the page that lists it."
        ),
        "noPermissionsToReadFile": (
            "The file exists, and the account may not read it.",
            "Look at the rights of the account that the credential names."
        ),
        "cancelled": (
            "Somebody cancelled the job, or a delegate answered a question with `cancel`.",
            "The audit log says who. Retry the job when it was a mistake."
        ),
    ]

    private static let own: Texts = [
        "sessionInvalidated": (
            "The session of the job was invalidated before the job could run.",
            "Submit the job to another session."
        ),
        "jobInvalid": (
            "The job was stored by other ways than the API, by `fetchd.enqueue` for example, and breaks a rule, which the message names.",
            "Correct it and enqueue it again; `POST /v1/jobs` checks all rules at once."
        ),
        "workerCrashed": (
            "Each time the job ran, the node that ran it was lost, so it was not tried again: it may be the job that ends them.",
            "Tell the operator, with the id of the job. It can be retried."
        ),
        "backgroundSessionRequiresSharedContainer": (
            "A name of the URL Loading System, kept so that clients can use one list. No load here ends with it: a service has no containers to share.",
            "Nothing has to be done for it."
        ),
        "backgroundSessionInUseByAnotherProcess": (
            "In the engine as a library, another process uses the folder of this background session. Jobs do not end with it: their sessions are in the database.",
            "As a library: use one process for one identifier."
        ),
        "backgroundSessionWasDisconnected": (
            "A name of the URL Loading System, kept so that clients can use one list. No load here ends with it: background sessions go on at another node.",
            "Nothing has to be done for it."
        ),
    ]
}
