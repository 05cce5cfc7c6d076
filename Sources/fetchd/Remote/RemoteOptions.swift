import ArgumentParser
import FetchEngine
import FetchJobs
import FoundationEssentials

/// The flags of every command that speaks with a running service.
struct RemoteOptions: ParsableArguments {
    /// The variables that stand for the flags.
    static let variables: Set<String> = ["FETCHD_URL", "FETCHD_KEY", "FETCHD_KEY_FILE", "FETCHD_PROFILE"]
    static let standardURL = "http://127.0.0.1:8080"

    @Option(
        help: ArgumentHelp("Where the service is (FETCHD_URL, \(Self.standardURL)).", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The API key, or - to read it from standard input. Other users of the machine can see arguments: better "
                + "set FETCHD_KEY, or give a file.",
            valueName: "key"))
    var key: String?

    @Option(help: ArgumentHelp("A file that holds the API key (FETCHD_KEY_FILE).", valueName: "file"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "The section of ~/.config/fetchd/profiles that says where the service is and what the key (FETCHD_PROFILE).",
            valueName: "name"))
    var profile: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "The form of the output: \(OutputForm.allCases.map(\.rawValue).joined(separator: ", ")).")
    var output = OutputForm.table

    func validate() throws {
        guard key == nil || keyFile == nil else { throw ValidationError("--key and --key-file exclude each other.") }
        guard profile == nil || url == nil else { throw ValidationError("--profile and --url exclude each other.") }
    }

    /// Whether flags name a service: for commands that work on the database without them.
    ///
    /// Variables do not count, so that nobody changes another service than that of this machine by mistake.
    var isNamed: Bool { url != nil || profile != nil || key != nil || keyFile != nil }

    /// Refuses a form of the output that only answers of a service have.
    func requireNamed() throws {
        guard isNamed || output == .table else {
            throw ValidationError("-o is for keys of a running service: name it by --url or --profile.")
        }
    }

    /// The service, as these flags and the environment name it.
    func service() throws -> RemoteService {
        let (address, key) = try place(ProcessInfo.processInfo.environment)
        guard SettingRule<String>.origin.parse(address) != nil, let base = try? URLRecord(address) else {
            throw ExitError(.configuration, "\(address) is not \(SettingRule<String>.origin.description)")
        }
        if key != nil, base.scheme == "http", !Self.isThisMachine(base.host ?? "") {
            printError("fetchd: the key travels to \(base.host ?? "") without TLS; give an https URL")
        }
        return RemoteService(base: address, key: key)
    }

    /// The service and the key: each by its flag, else both of a profile, else both of variables.
    ///
    /// A key of one is never used with the address of another, so that it goes nowhere that it was not given for.
    func place(_ environment: [String: String]) throws -> (url: String, key: String?) {
        let profile = try chosenProfile(environment)
        let address = url ?? profile?.url ?? environment["FETCHD_URL"].nonEmpty ?? Self.standardURL
        return (address, try apiKey(environment, profile))
    }

    /// The profile that is named, or that counts where nothing is said; nil for none.
    private func chosenProfile(_ environment: [String: String]) throws -> RemoteProfile? {
        guard url == nil else { return nil }
        let name = profile ?? environment["FETCHD_PROFILE"].nonEmpty
        let isSaid = ["FETCHD_URL", "FETCHD_KEY", "FETCHD_KEY_FILE"].contains { environment[$0].nonEmpty != nil }
        guard name != nil || !isSaid && key == nil && keyFile == nil else { return nil }
        guard let path = RemoteProfile.path(environment) else {
            guard name == nil else { throw ExitError(.configuration, "HOME is not set, where profiles are") }
            return nil
        }
        let profiles = try RemoteProfile.all(in: path, environment)
        if let found = profiles.first(where: { $0.name == name ?? RemoteProfile.standard }) { return found }
        guard let name else { return nil }
        let names = profiles.map(\.name).joined(separator: ", ")
        throw ExitError(
            .configuration, "there is no profile \"\(name)\" in \(path)\(names.isEmpty ? "" : ", which has \(names)")")
    }

    private func apiKey(_ environment: [String: String], _ profile: RemoteProfile?) throws -> String? {
        var text: String?
        switch key {
        case "-"?: text = readLine()
        case let key?:
            printError("fetchd: other users of the machine can see the key among the arguments; set FETCHD_KEY instead")
            text = key
        case nil:
            // A file that is named on purpose counts for more than the environment.
            if let path = keyFile {
                text = try Self.content(of: path)
            } else if let profile {
                text = try profile.key ?? profile.keyFile.map { try Self.content(of: $0, isOwnersAlone: true) }
            } else if let key = environment["FETCHD_KEY"].nonEmpty {
                text = key
            } else {
                text = try environment["FETCHD_KEY_FILE"].nonEmpty.map { try Self.content(of: $0) }
            }
        }
        guard let key = text?.trimmingWhiteSpace, !key.isEmpty else { return nil }
        guard key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw ExitError(.configuration, "the API key has a character that no key has")
        }
        return key
    }

    private static func content(of path: String, isOwnersAlone: Bool = false) throws -> String {
        guard let status = FileStatus(path: path), status.isRegular else {
            throw ExitError(.configuration, "\(path) cannot be read")
        }
        guard !isOwnersAlone || status.isOwnersAlone else {
            throw ExitError(
                .configuration, "\(path) may be used by others: take that away (chmod 600 \(path))")
        }
        guard !status.isOpenToAll else {
            throw ExitError(
                .configuration, "\(path) may be read or written by every user: take that away (chmod o= \(path))")
        }
        do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw ExitError(.configuration, "\(path) cannot be read")
        }
    }

    private static func isThisMachine(_ host: String) -> Bool {
        host == "localhost" || host.hasPrefix("127.") || host == "[::1]"
    }
}

/// How lists and objects are printed.
enum OutputForm: String, ExpressibleByArgument, CaseIterable {
    /// Columns for people.
    case table
    /// The same with more columns.
    case wide
    /// What the API answers.
    case json
    /// One element of a list a line.
    case ndjson

    var isForPeople: Bool { self == .table || self == .wide }
}

extension Optional<String> {
    /// Nil too when it is empty, since composed environments cannot leave variables out.
    fileprivate var nonEmpty: String? { flatMap { $0.isEmpty ? nil : $0 } }
}
