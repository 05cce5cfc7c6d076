import ArgumentParser
import FoundationEssentials
import SystemPackage

/// Completions for shells.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Lets the shell complete commands and options of fetchd.",
        subcommands: [Install.self, Show.self]
    )

    /// A shell that completes.
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        var script: String {
            switch self {
            case .bash: Fetchd.completionScript(for: .bash)
            case .zsh: Fetchd.completionScript(for: .zsh)
            case .fish: Fetchd.completionScript(for: .fish)
            }
        }

        /// Where the shell looks for a user's completions, below the home directory or what stands in its place.
        func path(_ environment: [String: String]) throws -> String {
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw ExitError(.configuration, "HOME is not set")
            }
            let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.local/share"
            let settings = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config"
            return switch self {
            case .bash: "\(data)/bash-completion/completions/fetchd"
            case .zsh: "\(data)/zsh/site-functions/_fetchd"
            case .fish: "\(settings)/fish/completions/fetchd.fish"
            }
        }

        /// What has to be done beside putting the file there.
        func advice(_ path: String) -> String {
            switch self {
            case .bash: "New shells know them, where the package bash-completion is."
            case .zsh:
                "Add to ~/.zshrc, before compinit: fpath=(\(FilePath(path).removingLastComponent().string) $fpath)"
            case .fish: "New shells know them."
            }
        }
    }

    struct Install: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the completions to where the shell looks for them.")

        @Option(help: "The shell: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")). That of SHELL by default.")
        var shell: Shell?

        func run() throws {
            try ExitError.reportingNow {
                let environment = ProcessInfo.processInfo.environment
                let name = FilePath(environment["SHELL"] ?? "").lastComponent?.string ?? ""
                guard let shell = shell ?? Shell(rawValue: name) else {
                    throw ExitError(.configuration, "SHELL is no shell that is known here; say which by --shell")
                }
                let path = try shell.path(environment)
                do {
                    try FileManager.default.createDirectory(
                        atPath: FilePath(path).removingLastComponent().string, withIntermediateDirectories: true)
                    try shell.script.write(toFile: path, atomically: true, encoding: .utf8)
                } catch {
                    throw ExitError(.unavailable, "\(path) cannot be written")
                }
                print(path)
                printError(shell.advice(path))
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints the completions.")

        @Argument(help: "The shell: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")).")
        var shell: Shell

        func run() throws { print(shell.script) }
    }
}
