import ArgumentParser
import FetchEngine
import Glibc

/// `fetchd get URL`: one load through the engine, with no server and no database.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetch one URL, without a server and without a database.",
        discussion: """
            The body goes to standard output, or with -o to a file that appears under its name only when it is \
            complete. Redirects are followed. An HTTP error status is an answer like any other, unless --fail says \
            otherwise. A progress bar is shown while a terminal is there to show it and the body goes elsewhere.

            EXAMPLES:
              fetchd get https://example.com/
              fetchd get -o page.html https://example.com/page
              fetchd get -i --no-follow http://example.com/old
              fetchd get -X PUT -H 'Content-Type: text/plain' -d @note https://example.com/n
              fetchd get --json https://example.com/ | jq .response.status

            EXIT CODES:
            \(GetExitCode.table)
            """
    )

    @Argument(help: "The URL: http or https, with its scheme.")
    var url: String

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
        name: .shortAndLong,
        help: ArgumentHelp(
            "The request body; @file sends a file as it is, @- standard input. Several are joined with &.",
            valueName: "data"))
    var data: [String] = []

    @Flag(name: .shortAndLong, help: "Write the status line and the header fields before the body.")
    var include = false

    @Flag(help: "Write one JSON document about the load instead of the body: response, redirects, metrics, error.")
    var json = false

    @Flag(name: [.customShort("L"), .customLong("follow")], help: "Follow redirects. This is the default.")
    var follow = false

    @Flag(help: "Take a redirect as the answer.")
    var noFollow = false

    @Option(help: ArgumentHelp("The most redirects to follow.", valueName: "count"))
    var maxRedirects = 20

    @Flag(name: .shortAndLong, help: "Exit with 22 and write no body when the HTTP status is 400 or more.")
    var fail = false

    @Option(help: ArgumentHelp("The most seconds the whole load may take.", valueName: "seconds"))
    var maxTime: Double?

    @Option(help: ArgumentHelp("The most seconds making a connection may take; 15 by default.", valueName: "seconds"))
    var connectTimeout: Double?

    @Flag(help: "Refuse addresses that are not public, as the service does.")
    var publicOnly = false

    func validate() throws {
        guard !follow || !noFollow else { throw ValidationError("--follow and --no-follow exclude each other.") }
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
            guard try URLRecord(url).isHTTP else { throw ValidationError("The URL is neither http nor https.") }
            try GetRequest(method: method, headers: headers).validate()
        } catch let failure as URLRecord.Failure {
            throw ValidationError(failure.message)
        } catch GetRequest.Fault.usage(let message) {
            throw ValidationError(message)
        }
    }

    func run() async throws {
        // Writing to a pipe without a reader is an error to handle, and must not end the process by a signal.
        signal(SIGPIPE, SIG_IGN)
        let load = GetLoad(
            request: try request(), configuration: sessionConfiguration(), destination: destination,
            includesHead: include, reportsJSON: json, failsOnStatus: fail,
            progress: ProgressBar.Style(bodyGoesTo: destination))
        let code = await load.run()
        guard code == .success else { throw ExitCode(code.rawValue) }
    }

    private var destination: BodyDestination {
        if remoteName { return .remoteName }
        if let output, output != "-" { return .file(output) }
        return json ? .nowhere : .standardOutput
    }

    private var policy: TargetPolicy { publicOnly ? .publicOnly : .unrestricted }

    private func sessionConfiguration() -> SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.redirects = RedirectConfiguration(policy: noFollow ? .return : .follow, maximum: maxRedirects)
        configuration.targetPolicy = policy
        configuration.timeoutIntervalForResource = maxTime.map { .seconds($0) }
        if let connectTimeout { configuration.connectTimeout = .seconds(connectTimeout) }
        return configuration
    }

    private func request() throws -> Request {
        do {
            let target = try TargetGuard(policy: policy).target(url)
            return try GetRequest(method: method, headers: headers, data: data).request(for: target)
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
