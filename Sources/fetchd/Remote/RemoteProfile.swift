import FetchEngine
import FetchJobs
import FoundationEssentials
import Glibc

/// A service and who asks it, by a name: a section of the user's file of profiles.
///
///     [production]
///     url = https://fetchd.example
///     key-file = ~/.config/fetchd/production.key
struct RemoteProfile: Sendable, Equatable {
    /// The profile that counts where nothing else is said.
    static let standard = "default"
    static let maximumBytes: Int64 = 64 << 10

    let name: String
    private(set) var url: String?
    private(set) var key: String?
    private(set) var keyFile: String?

    private init(name: String) { self.name = name }

    /// Where the profiles of a user are; nil when nobody knows where that user's files are.
    static func path(_ environment: [String: String]) -> String? {
        let settings = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? "\($0)/.config" : nil }
        return (settings ?? home).map { "\($0)/fetchd/profiles" }
    }

    /// The profiles of a file; none when there is no such file.
    ///
    /// - Throws: An error that names the file, and the line and the rule that it breaks, and no value of it.
    static func all(in path: String, _ environment: [String: String]) throws(ExitError) -> [RemoteProfile] {
        guard let status = FileStatus(path: path) else {
            guard errno == ENOENT || errno == ENOTDIR else { throw ExitError(.configuration, "\(path) cannot be read") }
            return []
        }
        guard status.isRegular, status.bytes <= maximumBytes,
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { throw ExitError(.configuration, "\(path) is no file that can be read") }
        let profiles = try read(text, of: path, home: environment["HOME"] ?? "")
        if profiles.contains(where: { $0.key != nil }), !status.isOwnersAlone {
            throw ExitError(
                .configuration, "\(path) has keys, and may be used by others: take that away (chmod 600 \(path))")
        }
        return profiles
    }

    /// Reads the text of a file: sections, and members with an equals sign; `#` begins a comment line.
    static func read(_ text: String, of path: String, home: String) throws(ExitError) -> [RemoteProfile] {
        var profiles: [RemoteProfile] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingWhiteSpace
            if line.isEmpty || line.hasPrefix("#") { continue }
            let fault: String?
            if line.hasPrefix("[") {
                fault = begin(line, &profiles)
            } else if profiles.isEmpty {
                fault = "is before the first [name]"
            } else {
                fault = profiles[profiles.count - 1].set(line, home: home)
            }
            if let fault { throw ExitError(.configuration, "\(path): line \(index + 1) \(fault)") }
        }
        if let profile = profiles.first(where: { $0.url == nil }) {
            throw ExitError(.configuration, "\(path): [\(profile.name)] has no url")
        }
        return profiles
    }

    private static func begin(_ line: String, _ profiles: inout [RemoteProfile]) -> String? {
        guard let match = line.wholeMatch(of: /\[([A-Za-z0-9_.-]{1,64})\]/) else {
            return "is not [name], of letters, digits, \"-\", \"_\" and \".\""
        }
        let name = String(match.1)
        guard !profiles.contains(where: { $0.name == name }) else { return "has a name that is there already" }
        profiles.append(RemoteProfile(name: name))
        return nil
    }

    private mutating func set(_ line: String, home: String) -> String? {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.trimmingWhiteSpace }
        guard parts.count == 2, !parts[1].isEmpty else { return "is not name = value" }
        switch parts[0] {
        case "url":
            guard url == nil else { return "says url again" }
            guard SettingRule<String>.origin.parse(parts[1]) != nil else {
                return "has a url that is not \(SettingRule<String>.origin.description)"
            }
            url = parts[1]
        case "key", "key-file":
            guard key == nil, keyFile == nil else { return "says key or key-file again" }
            if parts[0] == "key" {
                key = parts[1]
            } else {
                let file = parts[1].hasPrefix("~/") ? home + parts[1].dropFirst() : parts[1]
                guard file.hasPrefix("/") else { return "has a key-file that is no absolute path" }
                keyFile = file
            }
        default: return "is none of url, key and key-file"
        }
        return nil
    }
}
