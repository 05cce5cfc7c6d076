import FoundationEssentials
import Glibc
import Subprocess
import SystemPackage

/// One installation of PostgreSQL's server programs.
struct ServerBinaries: Hashable, Sendable {
    static let oldestSupported = 15

    let directory: String
    let major: Int

    func path(_ program: String) -> String { "\(directory)/\(program)" }

    // MARK: Finding

    /// Where to look, first hit wins among equals.
    ///
    /// - Parameters:
    ///   - given: A directory asked for: then no other is looked at.
    ///   - needed: The major of the cluster on disk: no other can run it.
    static func locate(in directory: String?, needed: Int?) async throws(PrivateClusterError) -> ServerBinaries {
        var installed: [ServerBinaries] = []
        let directories = if let directory { [directory] } else { await candidates() }
        for directory in directories {
            guard let binaries = await ServerBinaries(directory: directory) else { continue }
            if binaries.major == needed { return binaries }
            installed.append(binaries)
        }
        // The newest; the first found among several of it.
        let usable = installed.filter { $0.major >= oldestSupported }
        if needed == nil, let newest = usable.max(by: { $0.major < $1.major }) {
            return usable.first { $0.major == newest.major } ?? newest
        }
        throw missing(in: directory, needed: needed)
    }

    /// Nil unless `initdb` and `postgres` are both there.
    private init?(directory: String) async {
        guard ["initdb", "postgres"].allSatisfy({ access("\(directory)/\($0)", X_OK) == 0 }),
            let text = await Self.output(of: "\(directory)/postgres", "--version"),
            let major = Self.major(in: text)
        else { return nil }
        self.directory = directory
        self.major = major
    }

    /// The major of a line such as `postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)`.
    static func major(in version: String) -> Int? {
        guard let number = version.split(separator: " ").first(where: { $0.first?.isNumber == true }) else {
            return nil
        }
        return Int(number.prefix { $0.isNumber })
    }

    private static func candidates() async -> [String] {
        var directories: [String] = []
        if let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            let place = executable.split(separator: "/").dropLast().joined(separator: "/")
            directories += ["/\(place)/libexec/postgresql/bin", "/\(place)/../libexec/postgresql/bin"]
        }
        if let configured = await output(of: "pg_config", "--bindir") { directories.append(configured) }
        directories += children(of: "/usr/lib/postgresql").map { "\($0)/bin" }  // Debian
        directories += children(of: "/usr").filter { $0.contains("/pgsql-") }.map { "\($0)/bin" }  // PGDG
        directories += children(of: "/usr/libexec").filter { $0.contains("/postgresql") }  // Alpine
        directories += children(of: "/opt/homebrew/opt").filter { $0.contains("/postgresql") }.map { "\($0)/bin" }
        directories += ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin", "/run/current-system/sw/bin"]
        return directories
    }

    /// Newest first, as far as names tell.
    private static func children(of directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().reversed().map { "\(directory)/\($0)" }
    }

    /// The first line a program prints; nil when it is missing or fails.
    private static func output(of program: String, _ argument: String) async -> String? {
        let executable: Executable = program.contains("/") ? .path(FilePath(program)) : .name(program)
        // A program that is not there is no error here: the next place is looked at.
        guard let result = try? await run(executable, arguments: [argument], output: .string(limit: 4096)),
            result.terminationStatus.isSuccess
        else { return nil }
        return result.standardOutput.split(separator: "\n").first.map(String.init)
    }

    // MARK: Not finding

    private static func missing(in directory: String?, needed: Int?) -> PrivateClusterError {
        let install = installCommand(
            major: needed, release: (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? "")
        let place = directory.map { " in \($0)" } ?? ""
        guard let needed else {
            return PrivateClusterError(
                .binariesMissing,
                "PostgreSQL \(oldestSupported) or newer is not installed\(place) (initdb and postgres are needed). "
                    + "Install it: \(install). \(PrivateClusterError.alternative)")
        }
        return PrivateClusterError(
            .versionMissing,
            "The data directory belongs to PostgreSQL \(needed), which is not installed\(place). "
                + "Its data is untouched. Install that version: \(install), or name its directory with --pg-bindir. "
                + PrivateClusterError.alternative)
    }

    /// The command that installs PostgreSQL's server on the distribution that an `os-release` file describes.
    static func installCommand(major: Int?, release: String) -> String {
        let names = release.split(separator: "\n")
            .filter { $0.hasPrefix("ID=") || $0.hasPrefix("ID_LIKE=") }
            .flatMap { $0.drop { $0 != "=" }.dropFirst().split(whereSeparator: { " \"'".contains($0) }) }
        let suffix = major.map { "\($0)" } ?? ""
        for name in names {
            switch name {
            case "debian", "ubuntu": return "apt-get install postgresql" + (major == nil ? "" : "-\(suffix)")
            case "fedora", "rhel", "centos": return "dnf install postgresql\(suffix)-server"
            case "alpine": return "apk add postgresql\(suffix)"
            case "arch": return "pacman -S postgresql"
            case "suse", "opensuse": return "zypper install postgresql\(suffix)-server"
            default: continue
            }
        }
        return "your system's package of the PostgreSQL server"
    }
}
