/// Path, query and fragment.
extension URLParser {
    mutating func beginPath() { layout.pathStart = UInt32(output.count) }

    /// The state after an authority: special URLs always get a path.
    mutating func parsePathStart() {
        beginPath()
        if special == nil, current == nil || current == UInt8(ascii: "?") || current == UInt8(ascii: "#") {
            return parseQuery()
        }
        parsePath()
    }

    /// Reads segments, the first one with or without its slash, and the rest after them.
    mutating func parsePath() {
        if isSlash(current) { position += 1 }
        while true {
            let start = output.count
            output.append(UInt8(ascii: "/"))
            let end = nextBoundary()
            output.append(input[position..<end], encoding: .path)
            position = end
            let isLast = !isSlash(current)
            closeSegment(from: start, isLast: isLast)
            if isLast { break }
            position += 1
        }
        parseQuery()
    }

    /// Applies dot segments, and the drive letter's spelling, to the segment just written.
    private mutating func closeSegment(from start: Int, isLast: Bool) {
        switch Self.dots(in: output[(start + 1)...]) {
        case 2?:
            output.removeLast(output.count - start)
            shortenPath()
            if isLast { output.append(UInt8(ascii: "/")) }
        case 1?:
            output.removeLast(output.count - start)
            if isLast { output.append(UInt8(ascii: "/")) }
        default:
            let isFirst = start == Int(layout.pathStart)
            if special == .file, isFirst, Self.isDriveLetter(output[(start + 1)...]) {
                output[start + 2] = UInt8(ascii: ":")
            }
        }
    }

    /// How many dots a segment made only of dots has, `%2e` counting as one; `nil` for others.
    private static func dots(in segment: ArraySlice<UInt8>) -> Int? {
        guard segment.count <= 6, !segment.isEmpty else { return nil }
        var index = segment.startIndex
        var count = 0
        while index < segment.endIndex {
            if segment[index] == UInt8(ascii: ".") {
                index += 1
            } else if index + 2 < segment.endIndex, segment[index] == UInt8(ascii: "%"),
                segment[index + 1] == UInt8(ascii: "2"), segment[index + 2] | 0x20 == UInt8(ascii: "e")
            {
                index += 3
            } else {
                return nil
            }
            count += 1
        }
        return count
    }

    /// Removes the last segment, but never a file URL's drive.
    mutating func shortenPath() {
        guard let slash = lastSlash() else { return }
        output.removeLast(output.count - slash)
    }

    /// Where the last segment begins; nil when it is to stay.
    ///
    /// In a function of its own: as long as the slice lives, to shorten the output means to copy it.
    private func lastSlash() -> Int? {
        let path = output[Int(layout.pathStart)...]
        if special == .file, path.count == 3, Self.startsWithNormalizedDriveLetter(path) { return nil }
        return path.lastIndex(of: UInt8(ascii: "/"))
    }

    mutating func parseOpaquePath() {
        beginPath()
        layout.hasOpaquePath = true
        while let byte = current, byte != UInt8(ascii: "?"), byte != UInt8(ascii: "#") {
            position += 1
            if byte == 0x20, current == UInt8(ascii: "?") || current == UInt8(ascii: "#") {
                output.append(contentsOf: "%20".utf8)
            } else {
                output.append(byte, encoding: .control)
            }
        }
        parseQuery()
    }

    mutating func parseQuery() {
        layout.queryStart = UInt32(output.count)
        if current == UInt8(ascii: "?") {
            output.append(UInt8(ascii: "?"))
            let end = input[position...].firstIndex(of: UInt8(ascii: "#")) ?? input.endIndex
            output.append(input[(position + 1)..<end], encoding: special == nil ? .query : .specialQuery)
            position = end
        }
        parseFragment()
    }

    mutating func parseFragment() {
        layout.fragmentStart = UInt32(output.count)
        guard current == UInt8(ascii: "#") else { return }
        output.append(UInt8(ascii: "#"))
        output.append(input[(position + 1)...], encoding: .fragment)
        position = input.endIndex
    }

    /// Keeps a path that starts with two slashes from being read as a host: `/.` goes before it.
    mutating func protectPath() {
        let start = Int(layout.pathStart)
        let isUnprotected = !layout.hasHost && !layout.hasOpaquePath && layout.pathStart == layout.authorityEnd
        guard isUnprotected, output.dropFirst(start).starts(with: "//".utf8) else { return }
        output.insert(contentsOf: "/.".utf8, at: start)
        layout.pathStart += 2
        layout.queryStart += 2
        layout.fragmentStart += 2
    }
}
