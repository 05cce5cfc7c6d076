/// The name of a file: one path component that is safe to create.
///
/// Made from names that servers propose, so every rule here is about somebody who means harm: no directories, no
/// `..`, no hidden files, no control or bidirectional characters, no device names, no name that a file system would
/// refuse for its length (SEC-47).
package struct Filename: Equatable, CustomStringConvertible {
    /// Shorter than file systems allow (255), which leaves room for a number and for a temporary name.
    static let maximumBytes = 200

    /// The name.
    package let text: String

    package var description: String { text }

    /// Makes a name safe; nil when nothing is left of it.
    package init?(sanitizing name: String) {
        // Most names are plain, and are what they would become.
        if Self.isPlain(name), !Self.isDeviceName(name) {
            text = name
            return
        }
        let component = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last
        var scalars = (component.map(Array.init) ?? []).filter { !Self.isHarmful($0) }[...]
        while let first = scalars.first, first == "." || first.properties.isWhitespace { scalars.removeFirst() }
        // Windows drops these at the end, so two names would be one.
        while let last = scalars.last, last == "." || last.properties.isWhitespace { scalars.removeLast() }
        guard !scalars.isEmpty else { return nil }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        if Self.isDeviceName(text) { text = "_" + text }
        self.text = Self.shortened(text)
    }

    private init(_ text: String) { self.text = text }

    /// The name of last resort: `download`, with the extension for the media type.
    static func unnamed(mediaType: String?) -> Filename {
        Filename("download" + (mediaType.flatMap(FileExtension.preferred).map { "." + $0 } ?? ""))
    }

    /// The extension, without its dot; empty when there is none.
    var fileExtension: Substring {
        let split = Self.splitPoint(of: text)
        return split < text.endIndex ? text[text.index(after: split)...] : ""
    }

    /// The name with a number before its extension: `index-1.html`, `archive-1.tar.gz` (DLD-2).
    package func numbered(_ number: Int) -> Filename { Filename(Self.numbered(text, number)) }

    /// A file's name with a number before its extension.
    static func numbered(_ text: String, _ number: Int) -> String {
        let split = splitPoint(of: text)
        return "\(text[..<split])-\(number)\(text[split...])"
    }

    /// The name without this extension, or nil when it has another one or would be empty.
    func removing(extension removed: String, replacement: String = "") -> Filename? {
        let lowercase = text.lowercased()
        guard lowercase.hasSuffix("." + removed), text.utf8.count == lowercase.utf8.count else { return nil }
        let stem = text.dropLast(removed.count + 1)
        return Filename(sanitizing: replacement.isEmpty ? String(stem) : "\(stem).\(replacement)")
    }

    /// Where the extension's dot is; the end when there is none.
    ///
    /// By bytes: to step back by characters may mean to look at all of a long text for each.
    private static func splitPoint(of text: String) -> String.Index {
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")), dot > text.startIndex else { return text.endIndex }
        let stem = text.utf8[..<dot]
        // A compressed archive is known by both of its extensions.
        let isArchive = stem.suffix(4).map(\.asciiLowercased).elementsEqual(".tar".utf8)
        return isArchive && stem.count > 4 ? stem.index(stem.endIndex, offsetBy: -4) : dot
    }

    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > maximumBytes else { return text }
        let split = splitPoint(of: text)
        var ending = text[split...]
        if ending.utf8.count > 32 { ending = "" }
        var room = maximumBytes - ending.utf8.count
        var stem = text[..<(ending.isEmpty ? text.endIndex : split)].unicodeScalars.prefix { scalar in
            room -= scalar.utf8.count
            return room >= 0
        }
        // The cut may have uncovered characters that names may not end with.
        while let last = stem.last, last == "." || last.properties.isWhitespace { stem.removeLast() }
        return String(stem) + ending
    }

    /// Whether it has nothing but letters, digits, hyphens, low lines and, between these, dots, and is short enough.
    private static func isPlain(_ name: String) -> Bool {
        let bytes = name.utf8
        let dot = UInt8(ascii: ".")
        return !bytes.isEmpty && bytes.count <= maximumBytes && bytes.first != dot && bytes.last != dot
            && bytes.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || $0 == dot || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.value {
        // Marks that turn the direction of text, and invisible characters that disguise a name.
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: return true
        case 0xE0000...0xE007F: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return false
        }
    }

    /// Names that Windows keeps for devices, with any extension.
    private static func isDeviceName(_ text: String) -> Bool {
        var stem = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        while stem.last == UInt8(ascii: " ") { stem.removeLast() }
        // No longer than CONOUT$.
        return (3...7).contains(stem.count) && deviceNames.contains(Substring(stem).uppercased())
    }

    private static let deviceNames: Set<String> = Set(
        ["CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$"]
            + (0...9).flatMap { ["COM\($0)", "LPT\($0)"] } + ["¹", "²", "³"].flatMap { ["COM\($0)", "LPT\($0)"] })
}
