import ArgumentParser
import FoundationEssentials
import SystemPackage

/// Manual pages, one a command.
struct ManCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "man",
        abstract: "Writes the manual pages of fetchd and its commands.",
        subcommands: [Install.self, Show.self]
    )

    /// The pages of all commands, that of the program first.
    static func pages() throws -> [ManualPage] {
        let day = Date.now.formatted(.iso8601.year().month().day())
        return try CommandTree.parse(Fetchd._dumpHelp()).all.map {
            ManualPage(command: $0, version: Fetchd.version, day: day)
        }
    }

    struct Install: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the manual pages to where man looks for them.",
            discussion: """
                There is a page for each command: man fetchd, man fetchd-get, man fetchd-jobs-ls. Without a directory \
                they are for the user alone, and man finds them when ~/.local/bin is in PATH.

                  fetchd man install
                  fetchd man install /usr/local/share/man/man1
                """
        )

        @Argument(help: "The directory of section 1. That of the user by default: ~/.local/share/man/man1.")
        var directory: String?

        func run() throws {
            try ExitError.reportingNow {
                let directory = try directory ?? Self.standard(ProcessInfo.processInfo.environment)
                for page in try ManCommand.pages() {
                    let path = FilePath(directory).appending(page.file).string
                    do {
                        try FileManager.default.createDirectory(
                            atPath: directory, withIntermediateDirectories: true)
                        try page.text.write(toFile: path, atomically: true, encoding: .utf8)
                    } catch {
                        throw ExitError(.unavailable, "\(path) cannot be written")
                    }
                    print(path)
                }
            }
        }

        /// Where man looks for a user's pages, below the home directory or what stands in its place.
        private static func standard(_ environment: [String: String]) throws -> String {
            let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            guard let data = data ?? environment["HOME"].flatMap({ $0.hasPrefix("/") ? "\($0)/.local/share" : nil })
            else { throw ExitError(.configuration, "HOME is not set") }
            return "\(data)/man/man1"
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the manual page of a command.",
            discussion: """
                  fetchd man show jobs ls | man -l -
                """
        )

        @Argument(help: "The command, such as jobs ls; the program itself by default.")
        var command: [String] = []

        func run() throws {
            guard let page = try ManCommand.pages().first(where: { $0.command.path.dropFirst() == command[...] }) else {
                throw ValidationError("There is no command \"\(command.joined(separator: " "))\".")
            }
            print(page.text, terminator: "")
        }
    }
}
