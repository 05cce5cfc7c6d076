import ArgumentParser
import FetchEngine
import FetchJobs
import Foundation

/// The flags of every command that speaks with a running service.
struct RemoteOptions: ParsableArguments {
    /// The variables that stand for the flags.
    static let variables: Set<String> = ["FETCHD_URL", "FETCHD_KEY", "FETCHD_KEY_FILE"]
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
        name: [.customShort("o"), .customLong("output")],
        help: "The form of the output: \(OutputForm.allCases.map(\.rawValue).joined(separator: ", ")).")
    var output = OutputForm.table

    func validate() throws {
        guard key == nil || keyFile == nil else { throw ValidationError("--key and --key-file exclude each other.") }
    }

    /// The service, as these flags and the environment name it.
    func service() throws -> RemoteService {
        let environment = ProcessInfo.processInfo.environment
        let address = url ?? environment["FETCHD_URL"].nonEmpty ?? Self.standardURL
        guard SettingRule<String>.origin.parse(address) != nil, let base = try? URLRecord(address) else {
            throw ExitError(.configuration, "\(address) is not \(SettingRule<String>.origin.description)")
        }
        let key = try apiKey(environment)
        if key != nil, base.scheme == "http", !Self.isThisMachine(base.host ?? "") {
            printError("fetchd: the key travels to \(base.host ?? "") without TLS; give an https URL")
        }
        return RemoteService(base: address, key: key)
    }

    private func apiKey(_ environment: [String: String]) throws -> String? {
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
            } else if let key = environment["FETCHD_KEY"].nonEmpty {
                text = key
            } else {
                text = try environment["FETCHD_KEY_FILE"].nonEmpty.map(Self.content)
            }
        }
        guard let key = text?.trimmingCharacters(in: .whitespacesAndNewlines), !key.isEmpty else { return nil }
        guard key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw ExitError(.configuration, "the API key has a character that no key has")
        }
        return key
    }

    private static func content(of path: String) throws -> String {
        guard let status = FileStatus(path: path), status.isRegular else {
            throw ExitError(.configuration, "\(path) cannot be read")
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
