import ArgumentParser
import FetchEngine
import FetchJobs
import Glibc

/// `fetchd get URL`: one load through the engine, with no server and no database.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetches URLs, without a server and without a database.",
        discussion: """
            The body goes to standard output, or with -o to a file that appears under its name only when it is \
            complete. Redirects are followed. An HTTP error status is an answer like any other, unless --fail says \
            otherwise. A progress bar is shown while a terminal is there to show it and the body goes elsewhere. \
            Options are spelt as curl's where it has them. A URL without a scheme is https, and http on this machine: \
            for localhost and loopback addresses. Several URLs are fetched one after the other; the exit code is that \
            of the last that failed.

            EXAMPLES:
              fetchd get https://example.com/
              fetchd get -o page.html https://example.com/page
              fetchd get -i --no-follow http://example.com/old
              fetchd get -X PUT -H 'Content-Type: text/plain' -d @note example.com/n
              fetchd get --json https://example.com/ | jq .response.status
              fetchd get -O -C - --retry 5 https://example.com/big.iso
              fetchd get -F title=Holiday -F picture=@beach.jpg https://example.com/albums
              fetchd get -u ada https://example.com/private

            EXIT CODES:
            \(GetExitCode.table)
            """
    )

    @Argument(help: ArgumentHelp("The URLs: http or https.", valueName: "url"))
    var urls: [String]

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write the body to this file; - is standard output.", valueName: "file")
    )
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Write the body to a file named as the URL's last part.")
    var remoteName = false

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The method. GET by default; POST with -d.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A header field, 'Name: value'. May be repeated.", valueName: "field"))
    var headers: [String] = []

    @Option(
        name: [.short, .long, .customLong("data-binary")],
        help: ArgumentHelp(
            "The request body; @file sends a file as it is, @- standard input. Several are joined with &.",
            valueName: "data"))
    var data: [String] = []

    @Option(
        name: [.customShort("F"), .customLong("form")],
        help: ArgumentHelp(
            "A part of a form that may have files: name=value, name=@file, name=<file. May be repeated.",
            valueName: "part"))
    var form: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp(
            "Put this file; - is standard input. Below a URL that ends with a slash it keeps its name.",
            valueName: "file"))
    var upload: String?

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Ask for the head alone, and write it.")
    var head = false

    @Option(
        name: [.customShort("C"), .customLong("continue-at")],
        help: ArgumentHelp("Go on where the file of -o or -O ends; always written -C -.", valueName: "-"))
    var continueAt: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp(
            "Who is named to the server when it asks. Without a password it is asked for; one that is given can be seen "
                + "by other users of the machine.",
            valueName: "user:password"))
    var user: String?

    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp(
            "The proxy to go through: http, https, socks4, socks4a, socks5 or socks5h.", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust the authorities in this file of PEM, and no others.", valueName: "file"))
    var authorities: String?

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Refused: certificates are always verified.")
    var insecure = false

    @Option(help: ArgumentHelp("Try again so often when it may help, with growing waits.", valueName: "count"))
    var retry = 0

    @Option(
        help: ArgumentHelp("The most bytes a second each way, such as 500k or 2M.", valueName: "rate"))
    var limitRate: String?

    @Option(
        help: ArgumentHelp(
            "What the body has to be: sha256:…, sha512:…, sha1:… or md5:… in hexadecimal. A file of another is not kept.",
            valueName: "digest"))
    var checksum: String?

    @Flag(name: .shortAndLong, help: "Show neither a progress bar nor errors.")
    var silent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Show errors even with --silent.")
    var showError = false

    @Flag(name: .shortAndLong, help: "Write the status line and the header fields before the body.")
    var include = false

    @Flag(help: "Write one JSON document about the load instead of the body: response, redirects, metrics, error.")
    var json = false

    @Flag(
        name: [.customShort("L"), .customLong("follow"), .customLong("location")],
        help: "Follow redirects. This is the default.")
    var follow = false

    @Flag(help: "Take a redirect as the answer.")
    var noFollow = false

    @Option(help: ArgumentHelp("The most redirects to follow.", valueName: "count"))
    var maxRedirects = 20

    @Flag(name: .shortAndLong, help: "Exit with 22 and write no body when the HTTP status is 400 or more.")
    var fail = false

    @Option(
        name: [.customShort("m"), .long],
        help: ArgumentHelp("The most seconds the whole load may take.", valueName: "seconds"))
    var maxTime: Double?

    @Option(help: ArgumentHelp("The most seconds making a connection may take; 15 by default.", valueName: "seconds"))
    var connectTimeout: Double?

    @Flag(help: "Refuse addresses that are not public, as the service does.")
    var publicOnly = false

    func validate() throws {
        guard !follow || !noFollow else { throw ValidationError("--follow and --no-follow exclude each other.") }
        guard !insecure else {
            throw ValidationError(
                "--insecure is refused: whoever is on the way could answer for the server, and read what is sent to it. "
                    + "Trust its authority by --cacert FILE instead.")
        }
        guard !urls.isEmpty else { throw ValidationError("Give a URL.") }
        guard urls.count == 1 || output == nil || output == "-" else {
            throw ValidationError("--output is the file of one URL; with several use --remote-name.")
        }
        guard continueAt == nil || continueAt == "-" else {
            throw ValidationError("--continue-at is followed by -: where to go on is told by the file.")
        }
        guard continueAt == nil || remoteName || (output ?? "-") != "-" else {
            throw ValidationError("--continue-at needs the file that it goes on with: --output or --remote-name.")
        }
        guard continueAt == nil || !include else {
            throw ValidationError("--continue-at and --include exclude each other.")
        }
        guard 0...100 ~= retry else { throw ValidationError("--retry is from 0 to 100.") }
        guard limitRate.map({ SizeText.bytes($0) != nil }) ?? true else {
            throw ValidationError("--limit-rate is a number of bytes, such as 500k or 2M.")
        }
        guard checksum == nil || digest != nil else {
            throw ValidationError("--checksum is sha256:, sha512:, sha1: or md5: and the digest in hexadecimal.")
        }
        guard checksum == nil || urls.count == 1 else { throw ValidationError("--checksum is for one URL.") }
        guard proxy.map({ Proxy($0) != nil }) ?? true else {
            throw ValidationError("--proxy names no proxy; one is such as http://proxy.example:3128.")
        }
        guard output == nil || !remoteName else {
            throw ValidationError("--output and --remote-name exclude each other.")
        }
        guard !json || !include else { throw ValidationError("--json has the header fields; --include is not for it.") }
        guard !json || output != "-" else {
            throw ValidationError("With --json the body cannot go to standard output.")
        }
        try validateRequest()
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirects is not negative.") }
        for seconds in [maxTime, connectTimeout].compactMap({ $0 }) {
            guard seconds > 0, seconds <= 1e9 else { throw ValidationError("A timeout is more than 0 seconds.") }
        }
    }

    /// Finds errors of the request while the usage of this command can still be shown beside them.
    private func validateRequest() throws {
        do {
            for url in urls {
                guard try GetTarget.url(url).isHTTP else { throw ValidationError("The URL is neither http nor https.") }
            }
            try wanted.validate()
        } catch let failure as URLRecord.Failure {
            throw ValidationError(failure.message)
        } catch GetRequest.Fault.usage(let message) {
            throw ValidationError(message)
        }
    }

    func run() async throws {
        // Writing to a pipe without a reader is an error to handle, and must not end the process by a signal.
        signal(SIGPIPE, SIG_IGN)
        let login = try login()
        let configuration = try sessionConfiguration()
        var code = GetExitCode.success
        for url in urls {
            let end = try await load(url, login, configuration).run()
            if end != .success { code = end }
            if end == .interrupted || end == .terminated { break }
        }
        guard code == .success else { throw ExitCode(code.rawValue) }
    }

    private func load(
        _ text: String, _ login: String?, _ configuration: SessionConfiguration
    ) throws -> GetLoad {
        var request = try request(text, login)
        let destination = destination(request.url)
        if case .resumed(let file) = destination { file.narrow(&request) }
        var load = GetLoad(
            request: request, configuration: configuration, destination: destination,
            includesHead: include || head && !json, reportsJSON: json, failsOnStatus: fail,
            progress: silent || head ? nil : ProgressBar.Style(bodyGoesTo: destination))
        load.bytesPerSecond = limitRate.flatMap(SizeText.bytes)
        load.checksum = digest
        load.retries = retry
        load.isSilent = silent && !showError
        return load
    }

    private func destination(_ url: URLRecord) -> BodyDestination {
        let file = output.flatMap { $0 == "-" ? nil : $0 }
        if continueAt != nil { return .resumed(ResumedFile(path: file ?? GetTarget.fileName(of: url))) }
        if remoteName { return .remoteName }
        if let file { return .file(file) }
        return json ? .nowhere : .standardOutput
    }

    /// `user:password`; the password is asked for where it is not given.
    private func login() throws -> String? {
        guard let user else { return nil }
        guard !user.contains(":") else {
            printError(
                "fetchd: Other users of the machine can see the password among the arguments; give -u user alone.")
            return user
        }
        guard let password = Terminal.secret("Password of \(TerminalText.plain(user)): ") else {
            throw exit(.usage, "There is no terminal to ask for the password of \(user).")
        }
        return "\(user):\(password)"
    }

    /// What `--checksum` says; nil when there is none, or none that can be read.
    private var digest: DigestClaim? {
        guard let match = checksum?.wholeMatch(of: /(md5|sha1|sha256|sha512):((?:[0-9A-Fa-f]{2})+)/) else { return nil }
        let name = String(match.1).replacing("sha", with: "sha-")
        return ExpectedDigest(name, hexadecimal: match.2).map(DigestClaim.init)
    }

    private var policy: TargetPolicy {
        guard publicOnly else { return .unrestricted }
        var policy = TargetPolicy.publicOnly
        // Whoever names a proxy here is whose machine it is.
        policy.opensProxies = true
        return policy
    }

    private func sessionConfiguration() throws -> SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.redirects = RedirectConfiguration(policy: noFollow ? .return : .follow, maximum: maxRedirects)
        configuration.targetPolicy = policy
        configuration.timeoutIntervalForResource = maxTime.map { .seconds($0) }
        if let connectTimeout { configuration.connectTimeout = .seconds(connectTimeout) }
        if let proxy, let proxy = Proxy(proxy) {
            configuration.proxies = ProxyConfiguration(rules: [.init(routes: [.proxy(proxy)])])
        }
        if let authorities {
            guard let pem = try? FileContents.bytes(of: authorities) else {
                throw exit(.cannotRead, "\(authorities) cannot be read.")
            }
            configuration.tls.anchors = .pem(pem)
        }
        return configuration
    }

    /// What is asked of each URL.
    private var wanted: GetRequest {
        GetRequest(method: method, headers: headers, data: data, form: form, upload: upload, isHead: head)
    }

    private func request(_ text: String, _ login: String?) throws -> Request {
        do {
            var url = try GetTarget.url(text)
            if let upload { url = try GetTarget.url(url, putting: upload) }
            var target = try TargetGuard(policy: policy).target(url.description)
            if let login { target = try GetTarget.url(target, for: login) }
            return try wanted.request(for: target)
        } catch let refusal as TargetRefusal {
            throw exit(.refusedTarget, refusal.message)
        } catch GetRequest.Fault.usage(let message) {
            throw ValidationError(message)
        } catch GetRequest.Fault.cannotRead(let message) {
            throw exit(.cannotRead, message)
        }
    }

    private func exit(_ code: GetExitCode, _ message: String) -> ExitCode {
        printError("fetchd: \(message)")
        return ExitCode(code.rawValue)
    }
}
