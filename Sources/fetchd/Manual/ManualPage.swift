/// The manual page of a command, in the macros of man(7).
struct ManualPage {
    let command: CommandTree
    let version: String
    /// The day on which it is written, as in 2026-07-14: programs that show pages want one.
    let day: String

    static func name(_ path: [String]) -> String { path.joined(separator: "-") }

    /// The name of its file.
    var file: String { Self.name(command.path) + ".1" }

    var text: String {
        let name = Self.name(command.path)
        let lines =
            [
                ".TH \(quoted(name.uppercased())) 1 \"\(day)\" \(quoted("fetchd \(version)")) \"Fetchd\"",
                // Long words, such as URLs, are neither divided nor drawn apart.
                ".nh", ".ad l",
                ".SH NAME", "\(Roff.escape(name)) \\- \(Roff.escape(summary))", ".SH SYNOPSIS",
            ] + synopsis + description + commands + options + seeAlso
        return lines.joined(separator: "\n") + "\n"
    }

    /// The abstract in the form of whatis(1), without the full stop.
    private var summary: String {
        let abstract = command.abstract ?? ""
        return abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
    }

    private var shownArguments: [CommandTree.Argument] { (command.arguments ?? []).filter { $0.shouldDisplay } }

    private var synopsis: [String] {
        var words = ["\\fB\(Roff.escape(command.path.joined(separator: " ")))\\fR"]
        if shownArguments.contains(where: { $0.kind != .positional && $0.isOptional }) {
            words.append("[\\fIoptions\\fR]")
        }
        for argument in shownArguments where argument.kind != .flag {
            if argument.kind == .option && argument.isOptional { continue }
            let repeats = argument.isRepeating ? " ..." : ""
            let text = label(argument, names: argument.names?.suffix(1) ?? []) + repeats
            words.append(argument.isOptional ? "[\(text)]" : text)
        }
        if !command.shown.isEmpty {
            words.append(command.defaultSubcommand == nil ? "\\fIcommand\\fR" : "[\\fIcommand\\fR]")
        }
        return [words.joined(separator: " ")]
    }

    private var description: [String] {
        let discussion = command.discussion ?? ""
        let abstract = [".SH DESCRIPTION", Roff.line(command.abstract ?? "")]
        return discussion.isEmpty ? abstract : abstract + [".PP"] + Roff.paragraphs(discussion)
    }

    private var commands: [String] {
        guard !command.shown.isEmpty else { return [] }
        return [".SH COMMANDS"]
            + command.shown.flatMap { other in
                let isDefault = other.commandName == command.defaultSubcommand
                return [
                    ".TP", "\\fB\(Roff.escape(other.path.joined(separator: " ")))\\fR",
                    Roff.line((other.abstract ?? "") + (isDefault ? " Done when no command is given." : "")),
                ]
            }
    }

    private var options: [String] {
        let positional = shownArguments.filter { $0.kind == .positional }
        var lines = positional.isEmpty ? [] : [".SH ARGUMENTS"] + positional.flatMap { entry($0) }
        let others = shownArguments.filter { $0.kind != .positional }
        guard !others.isEmpty else { return lines }
        lines += [".SH OPTIONS"] + others.filter { $0.sectionTitle == nil }.flatMap { entry($0) }
        var titles: [String] = []
        for title in others.compactMap(\.sectionTitle) where !titles.contains(title) { titles.append(title) }
        for title in titles {
            lines += [".SS \(quoted(title))"] + others.filter { $0.sectionTitle == title }.flatMap { entry($0) }
        }
        return lines
    }

    private func entry(_ argument: CommandTree.Argument) -> [String] {
        let names = argument.names ?? []
        let standard = argument.defaultValue.map { " (default: \($0))" } ?? ""
        return [
            ".TP", label(argument, names: names.filter { $0.kind != "long" } + names.filter { $0.kind == "long" }),
            Roff.line((argument.abstract ?? "") + standard),
        ]
    }

    /// Its names in bold, and its value in italics.
    private func label(_ argument: CommandTree.Argument, names: [CommandTree.Argument.Name]) -> String {
        let value = argument.kind == .flag ? nil : argument.valueName.map { "\\fI\(Roff.escape($0))\\fR" }
        let names = names.map { "\\fB\(Roff.escape($0.text))\\fR" }.joined(separator: ", ")
        return [names, value].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private var seeAlso: [String] {
        let parents = (command.superCommands ?? []).isEmpty ? [] : [Array(command.path.dropLast())]
        let pages = (parents + command.shown.map(\.path)).map { "\\fB\(Roff.escape(Self.name($0)))\\fR(1)" }
        guard !pages.isEmpty else { return [] }
        return [".SH SEE ALSO"] + pages.dropLast().map { "\($0)," } + pages.suffix(1)
    }

    /// An argument of a macro.
    private func quoted(_ text: String) -> String { "\"\(Roff.escape(text).replacing("\"", with: "\\(dq"))\"" }
}

/// How text is written for roff(7).
enum Roff {
    /// The text as it is, whatever characters it has.
    static func escape(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\\": escaped += "\\e"
            // Without it some programs write typographic characters, which no shell understands when they are copied.
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                escaped += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            }
        }
    }

    /// A line of text, which no macro is read from.
    static func line(_ text: String) -> String { (text.hasPrefix(".") ? "\\&" : "") + escape(text) }

    /// Text of several lines as `--help` has it.
    ///
    /// A line in capitals with a colon is a heading; lines with two spaces before lines that are further in are terms
    /// with their descriptions; other lines with spaces before them stay as they are, and the rest is filled.
    static func paragraphs(_ text: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        var (result, state) = ([String](), State.begin)
        for (index, line) in lines.enumerated() {
            let next = lines.indices.contains(index + 1) ? indentation(lines[index + 1]) : 0
            let (kind, content) = read(line, next: next, state)
            if state == .verbatim, kind != .verbatim { result += [".fi", ".RE"] }
            switch kind {
            case .heading: result.append(".SH \(escape(content))")
            case .term: result += [".TP", "\\fB\(escape(content))\\fR"]
            case .description: result += (state == .term ? [] : [".br"]) + [Roff.line(content)]
            case .verbatim: result += (state == .verbatim ? [] : [".RS 4", ".nf"]) + [Roff.line(content)]
            case .text: result += (state == .empty ? [".PP"] : []) + [Roff.line(content)]
            case .empty, .begin: break
            }
            // An empty line below a heading or before the first text begins no paragraph.
            state = kind == .empty && (state == .heading || state == .begin) ? state : kind
        }
        return state == .verbatim ? result + [".fi", ".RE"] : result
    }

    private enum State {
        case begin, empty, text, heading, term, description, verbatim
    }

    private static func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }

    private static func read(_ line: String, next: Int, _ state: State) -> (State, String) {
        let depth = indentation(line)
        let content = String(line.dropFirst(depth))
        if content.isEmpty { return (.empty, "") }
        if depth == 0 {
            let isHeading = line.hasSuffix(":") && line.allSatisfy { $0.isUppercase || $0 == " " || $0 == ":" }
            return isHeading ? (.heading, String(line.dropLast())) : (.text, content)
        }
        if depth == 2, next >= 6 { return (.term, content) }
        if state == .term || state == .description, depth >= 6 { return (.description, content) }
        return (.verbatim, String(line.dropFirst(2)))
    }
}
