import FoundationEssentials

/// A command with its arguments and subcommands, as `--help` describes it.
///
/// Read from what the argument parser says of itself, so that nothing is described twice.
struct CommandTree: Decodable {
    struct Argument: Decodable {
        enum Kind: String, Decodable {
            /// A bare value.
            case positional
            /// A value behind a name.
            case option
            /// A name alone.
            case flag
        }

        struct Name: Decodable {
            let kind: String
            let name: String

            /// As it is typed.
            var text: String { (kind == "long" ? "--" : "-") + name }
        }

        let kind: Kind
        let shouldDisplay: Bool
        let sectionTitle: String?
        let isOptional: Bool
        let isRepeating: Bool
        let names: [Name]?
        let valueName: String?
        let defaultValue: String?
        let abstract: String?
    }

    let commandName: String
    let shouldDisplay: Bool
    /// The commands that it is called behind, the program first.
    let superCommands: [String]?
    let defaultSubcommand: String?
    let abstract: String?
    let discussion: String?
    let subcommands: [CommandTree]?
    let arguments: [Argument]?

    private struct Dump: Decodable {
        let command: CommandTree
    }

    /// The tree of a program, from the JSON of `--experimental-dump-help`.
    static func parse(_ dump: String) throws -> CommandTree {
        try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command
    }

    /// The words that call it, the program's name first.
    var path: [String] { (superCommands ?? []) + [commandName] }

    /// Subcommands that people know of; `help` is in every program.
    var shown: [CommandTree] { (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" } }

    /// It and everything below it.
    var all: [CommandTree] { [self] + shown.flatMap(\.all) }
}
