import FetchJobs

/// The name of a download: 16 hexadecimal digits, or fewer of its first ones where they name one alone.
struct Aria2GID: Sendable {
    static let digits = 16
    /// How many of its digits a label has, by which shortened ones are found.
    private static let fewest = 6

    /// In lower case.
    let text: String

    /// A new one.
    init() {
        let number = UInt64.random(in: 1...UInt64.max)
        let digits = String(number, radix: 16)
        text = String(repeating: "0", count: Self.digits - digits.utf8.count) + digits
    }

    /// - Throws: ``Aria2Failure`` for what is neither a gid nor the beginning of one.
    init(_ text: String) throws(Aria2Failure) {
        guard (1...Self.digits).contains(text.utf8.count), text.allSatisfy(Self.isDigit) else {
            throw .invalid(gid: text)
        }
        guard text.utf8.count >= Self.fewest else { throw .notUnique(text) }
        self.text = text.lowercased()
    }

    /// The one that a client gives to a download; nil for what is none.
    init?(whole text: String) {
        guard text.utf8.count == Self.digits, text.allSatisfy(Self.isDigit),
            text.utf8.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        self.text = text.lowercased()
    }

    var isWhole: Bool { text.utf8.count == Self.digits }

    /// The label by which downloads are looked for that it may name.
    var label: JobSpec.Label {
        isWhole
            ? JobSpec.Label(name: Aria2Download.labelOfGID, value: text)
            : JobSpec.Label(name: Aria2Download.labelOfBeginning, value: beginning)
    }

    var beginning: String { String(text.prefix(Self.fewest)) }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isHexDigit }
}
