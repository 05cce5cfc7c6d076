/// The words of a command line, as a POSIX shell reads them: nothing is run, and nothing is looked up.
///
/// Single and double quotes, backslashes, comments and the `$'…'` of bash are read. What stands for something that only
/// the shell knows is refused, and so is what would end the command. The time grows as the text does.
struct ShellWords {
    /// Why a text is not one command.
    struct Fault: Error, Equatable {
        let message: String
    }

    private let bytes: [UInt8]
    private var index = 0
    private var words: [String] = []
    /// The bytes of the word that is read.
    private var word: [UInt8] = []
    /// Whether there is one, which may be empty.
    private var isInWord = false

    /// - Throws: ``Fault`` when a quote is not closed, or the text does more than name words.
    static func words(of text: String) throws(Fault) -> [String] {
        var reader = ShellWords(bytes: Array(text.utf8))
        while let byte = reader.next() { try reader.take(byte) }
        try reader.endWord()
        return reader.words
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func next() -> UInt8? {
        guard index < bytes.count else { return nil }
        defer { index += 1 }
        return bytes[index]
    }

    private var following: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func endWord() throws(Fault) {
        guard isInWord else { return }
        guard !word.contains(0), let text = String(validating: word, as: UTF8.self) else {
            throw Fault(message: "A word of the command is not UTF-8, or has a NUL.")
        }
        words.append(text)
        word = []
        isInWord = false
    }

    private mutating func add(_ bytes: some Sequence<UInt8>) {
        word.append(contentsOf: bytes)
        isInWord = true
    }

    private mutating func add(_ byte: UInt8) {
        word.append(byte)
        isInWord = true
    }

    private mutating func take(_ byte: UInt8) throws(Fault) {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): try endWord()
        case UInt8(ascii: "#") where !isInWord:
            while let byte = following, byte != UInt8(ascii: "\n") { index += 1 }
        case UInt8(ascii: "'"): try takeQuoted()
        case UInt8(ascii: "\""): try takeDoublyQuoted()
        case UInt8(ascii: "\\"): takeEscaped()
        case UInt8(ascii: "$") where following == UInt8(ascii: "'"):
            index += 1
            try takeEscapes()
        case UInt8(ascii: "$"), UInt8(ascii: "`"): try refuseReplacement(byte)
        case UInt8(ascii: "|"), UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "("), UInt8(ascii: ")"):
            let sign = String(UnicodeScalar(byte))
            throw Fault(
                message:
                    "“\(sign)” outside of quotes means something to a shell: paste one command alone, and put a URL "
                    + "with “\(sign)” in it in quotes.")
        default: add(byte)
        }
    }

    /// `\` with a line break is nothing, with another character that one.
    private mutating func takeEscaped() {
        guard let byte = next() else { return add(UInt8(ascii: "\\")) }
        if byte == UInt8(ascii: "\r"), following == UInt8(ascii: "\n") {
            index += 1
        } else if byte != UInt8(ascii: "\n") {
            add(byte)
        }
    }

    private mutating func takeQuoted() throws(Fault) {
        guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "'")) else {
            throw Fault(message: "A single quote is not closed.")
        }
        add(bytes[index..<end])
        index = end + 1
    }

    private mutating func takeDoublyQuoted() throws(Fault) {
        isInWord = true
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "$"), UInt8(ascii: "`"): try refuseReplacement(byte)
            case UInt8(ascii: "\\"):
                switch following {
                case UInt8(ascii: "\"")?, UInt8(ascii: "\\")?, UInt8(ascii: "$")?, UInt8(ascii: "`")?,
                    UInt8(ascii: "\n")?, UInt8(ascii: "\r")?:
                    takeEscaped()
                default: add(byte)
                }
            default: add(byte)
            }
        }
        throw Fault(message: "A double quote is not closed.")
    }

    /// A `$` is itself where no name follows it.
    private mutating func refuseReplacement(_ byte: UInt8) throws(Fault) {
        if byte == UInt8(ascii: "$") {
            switch following ?? 0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "{"), UInt8(ascii: "("),
                UInt8(ascii: "\""):
                break
            default: return add(byte)
            }
        }
        throw Fault(
            message:
                "“\(String(UnicodeScalar(byte)))” stands for what only your shell knows: write that, or use single "
                + "quotes where it means itself.")
    }

    // MARK: $'…'

    private mutating func takeEscapes() throws(Fault) {
        isInWord = true
        while let byte = next() {
            if byte == UInt8(ascii: "'") { return }
            if byte == UInt8(ascii: "\\") { try takeEscape() } else { add(byte) }
        }
        throw Fault(message: "A single quote is not closed.")
    }

    private static let controls: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "e"): 27, UInt8(ascii: "E"): 27,
        UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9,
        UInt8(ascii: "v"): 11,
    ]

    private mutating func takeEscape() throws(Fault) {
        guard let byte = next() else { return }
        switch byte {
        case UInt8(ascii: "x"): add(UInt8(truncatingIfNeeded: try number(ofBase: 16, upTo: 2)))
        case UInt8(ascii: "u"): try addScalar(upTo: 4)
        case UInt8(ascii: "U"): try addScalar(upTo: 8)
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            index -= 1
            add(UInt8(truncatingIfNeeded: try number(ofBase: 8, upTo: 3)))
        default: add(Self.controls[byte] ?? byte)
        }
    }

    private mutating func addScalar(upTo digits: Int) throws(Fault) {
        guard let scalar = UnicodeScalar(try number(ofBase: 16, upTo: digits)) else {
            throw Fault(message: "An escape of $'…' names no character.")
        }
        add(String(scalar).utf8)
    }

    private mutating func number(ofBase base: UInt32, upTo digits: Int) throws(Fault) -> UInt32 {
        var (value, count): (UInt32, Int) = (0, 0)
        while count < digits, let byte = following, let digit = Character(UnicodeScalar(byte)).hexDigitValue,
            digit < base
        {
            value = value << (base == 16 ? 4 : 3) | UInt32(digit)
            (index, count) = (index + 1, count + 1)
        }
        guard count > 0 else { throw Fault(message: "An escape of $'…' has no digits.") }
        return value
    }
}
