/// A curl command, read as a job.
///
/// What a job says otherwise, or cannot do, is refused by the name of the option, with what to do about it. What is about
/// the terminal or the files of whoever runs curl is left out, and told in ``notes``. The time grows as the text does.
package struct CurlCommand: Sendable {
    /// Why a command is no job.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }

        init(_ option: String, _ reason: String) { description = "\(option): \(reason)" }
    }

    /// The longest command that is read, in bytes.
    package static let maximumLength = 256 * 1024
    /// So many arguments it may have.
    package static let maximumArguments = 1000

    /// The job, as it can be submitted.
    ///
    /// It is not checked: ``JobSpec/init(json:besides:)`` does that.
    package let job: JSONValue
    /// What was left out of it, as sentences.
    package let notes: [String]

    /// Reads a command line as a POSIX shell does.
    ///
    /// - Throws: ``Fault``, which names the option that cannot be read.
    package init(_ text: String) throws(Fault) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Fault("The command has more than \(Self.maximumLength) bytes.")
        }
        let words: [String]
        do throws(ShellWords.Fault) { words = try ShellWords.words(of: text) } catch { throw Fault(error.message) }
        guard words.count <= Self.maximumArguments else {
            throw Fault("The command has more than \(Self.maximumArguments) arguments.")
        }
        // Escapes may have made what the text itself has not.
        guard words.allSatisfy(\.isStreamSafe) else {
            throw Fault("An argument has more than 30 combining marks in a row.")
        }
        guard let name = words.first else { throw Fault("There is no command.") }
        guard name == "curl" || name.hasSuffix("/curl") else {
            throw Fault("The command is not curl.")
        }
        var draft = CurlDraft()
        var reader = CurlArguments(Array(words.dropFirst()))
        while let argument = try reader.next() {
            switch argument {
            case .url(let url): try draft.take(url: url)
            case .option(let option, let written, let value): try draft.take(option, written, value)
            }
        }
        job = try draft.job()
        notes = draft.notes
    }
}

/// The arguments of curl, one after the other.
struct CurlArguments {
    enum Argument {
        case url(String)
        /// - Parameter value: Empty for an option that takes none.
        case option(CurlOption, written: String, value: String)
    }

    private let words: [String]
    private var index = 0
    /// The rest of a word of short options.
    private var letters: Substring = ""
    private var areOptionsOver = false

    init(_ words: [String]) { self.words = words }

    private mutating func word() -> String? {
        guard index < words.count else { return nil }
        defer { index += 1 }
        return words[index]
    }

    mutating func next() throws(CurlCommand.Fault) -> Argument? {
        if let letter = letters.popFirst() { return try short(letter) }
        guard let word = word() else { return nil }
        if areOptionsOver || !word.hasPrefix("-") || word == "-" { return .url(word) }
        if word == "--" {
            areOptionsOver = true
            return try next()
        }
        guard word.hasPrefix("--") else {
            letters = word.dropFirst()
            return try next()
        }
        guard let option = CurlOption.named(String(word.dropFirst(2))) else {
            throw CurlCommand.Fault(String(word.prefix(60)), "no option of curl that is known here.")
        }
        return try argument(option, word)
    }

    private mutating func short(_ letter: Character) throws(CurlCommand.Fault) -> Argument {
        guard let option = CurlOption.abbreviated(letter) else {
            throw CurlCommand.Fault("-\(letter)", "no option of curl that is known here.")
        }
        guard option.takesValue, !letters.isEmpty else { return try argument(option, "-\(letter)") }
        defer { letters = "" }
        return .option(option, written: "-\(letter)", value: String(letters))
    }

    private mutating func argument(_ option: CurlOption, _ written: String) throws(CurlCommand.Fault) -> Argument {
        guard option.takesValue else { return .option(option, written: written, value: "") }
        guard let value = word() else { throw CurlCommand.Fault(written, "its value is missing.") }
        return .option(option, written: written, value: value)
    }
}
