import ArgumentParser

// The documentation of settings: the help, and the table of deploy/README.md.

extension Setting {
    /// The flag of a setting that has one.
    static func name(of key: String) -> NameSpecification {
        .customLong(named(key).flag ?? "")
    }

    /// The help for the flag of a setting.
    static func help(for key: String, _ valueName: String) -> ArgumentHelp {
        let setting = named(key)
        return ArgumentHelp("\(setting.summary) (\(setting.variable), \(setting.standard))", valueName: valueName)
    }

    private static func named(_ key: String) -> Setting {
        guard let setting = Settings.table.first(where: { $0.key == key }) else { preconditionFailure("No \(key)") }
        return setting
    }

    fileprivate var entry: String {
        let lines = [summary, "Value: \(rule).", "Default: \(standard)."]
        return (["  \(variable)\(isSecret ? ", or \(fileVariable)" : "")"] + lines.flatMap(Self.wrapped))
            .joined(separator: "\n")
    }

    /// Lines as wide as those of the other help: the parser would begin what is left at the margin.
    private static func wrapped(_ text: String) -> [String] {
        var lines = ["     "]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count >= 80 { lines.append("       ") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines
    }

    fileprivate var row: String {
        "| `\(variable)`\(isSecret ? " `\(fileVariable)`" : "")\(flag.map { " `--\($0)`" } ?? "") | \(summary) | \(rule) | \(standard) |"
    }
}

extension Settings {
    /// All settings, for the help of a command.
    static var help: String { table.map(\.entry).joined(separator: "\n") }

    /// All settings as a table in Markdown.
    static var markdown: String {
        (["| setting | what it does | its value | default |", "| --- | --- | --- | --- |"] + table.map(\.row))
            .joined(separator: "\n")
    }
}
