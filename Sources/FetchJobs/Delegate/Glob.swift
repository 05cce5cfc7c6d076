/// A text in which each `*` stands for any characters, none included.
///
/// Upper and lower case differ. Every match takes time in proportion to the lengths of pattern and text together.
package struct Glob: Sendable, Hashable, CustomStringConvertible {
    package let description: String
    /// The texts between the stars, with the first and the last one, which may be empty.
    private let pieces: [Piece]

    package init(_ text: String) {
        description = text
        pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map {
            Piece(Array($0))
        }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.description.utf8.elementsEqual(right.description.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    package func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { matches($0) }
    }

    private func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = pieces.first, let last = pieces.last else { return text.isEmpty }
        guard pieces.count > 1 else { return text.elementsEqual(first.bytes) }
        guard text.count >= first.bytes.count + last.bytes.count, text.starts(with: first.bytes),
            text.suffix(last.bytes.count).elementsEqual(last.bytes)
        else { return false }
        var rest = first.bytes.count..<(text.count - last.bytes.count)
        // The earliest place of each piece leaves the most to those behind it.
        for piece in pieces.dropFirst().dropLast() {
            guard let end = piece.end(in: text, rest) else { return false }
            rest = end..<rest.upperBound
        }
        return true
    }
}

extension Glob {
    /// A text to search for by the algorithm of Knuth, Morris and Pratt.
    private struct Piece: Sendable {
        let bytes: [UInt8]
        /// For each prefix of the text the length of its longest proper border.
        private let borders: [Int]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            var borders = [Int](repeating: 0, count: bytes.count)
            var length = 0
            for index in bytes.indices.dropFirst() {
                while length > 0, bytes[index] != bytes[length] { length = borders[length - 1] }
                if bytes[index] == bytes[length] { length += 1 }
                borders[index] = length
            }
            self.borders = borders
        }

        /// Where the first occurrence in a part of a text ends.
        func end(in text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int? {
            guard !bytes.isEmpty else { return range.lowerBound }
            var length = 0
            for index in range {
                while length > 0, text[index] != bytes[length] { length = borders[length - 1] }
                if text[index] == bytes[length] { length += 1 }
                if length == bytes.count { return index + 1 }
            }
            return nil
        }
    }
}
