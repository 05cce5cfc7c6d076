/// The file states. They know Windows drive letters: `C:` or `C|` as a first segment stays where it is.
extension URLParser {
    mutating func parseFile() throws(URLRecord.Failure) {
        let fileBase = base?.scheme == "file" ? base : nil
        if isSlash(current) {
            if isSlash(byte(after: 1)) {
                position += 2
                return try parseFileHost()
            }
            return parseFileRoot(fileBase)
        }
        guard let fileBase else {
            beginEmptyHost()
            return parsePath()
        }
        if startsWithDriveLetter {
            adoptAuthority(of: fileBase)
            return parsePath()
        }
        parseRelativePath(fileBase)
    }

    /// One slash: the base's host and drive are kept.
    private mutating func parseFileRoot(_ fileBase: URLRecord?) {
        position += 1
        let startsWithDrive = startsWithDriveLetter
        guard let fileBase else {
            beginEmptyHost()
            return parsePath()
        }
        adoptAuthority(of: fileBase)
        let basePath = Array(fileBase.path.utf8)
        if !startsWithDrive, Self.startsWithNormalizedDriveLetter(basePath[...]) {
            output.append(contentsOf: basePath.prefix(3))
        }
        parsePath()
    }

    private mutating func parseFileHost() throws(URLRecord.Failure) {
        let end = nextBoundary()
        let host = input[position..<end]
        if Self.isDriveLetter(host) {
            beginEmptyHost()
            return parsePath()
        }
        beginAuthority()
        if !host.isEmpty { try appendHost(host) } else { layout.hostEnd = UInt32(output.count) }
        if output[Int(layout.hostStart)...].elementsEqual("localhost".utf8) {
            output.removeLast(output.count - Int(layout.hostStart))
            layout.hostEnd = layout.hostStart
        }
        layout.authorityEnd = UInt32(output.count)
        position = end
        parsePathStart()
    }

    private mutating func beginEmptyHost() {
        beginAuthority()
        layout.hostEnd = UInt32(output.count)
        layout.authorityEnd = UInt32(output.count)
        beginPath()
    }

    /// Whether the rest starts with a drive letter that is a whole segment.
    private var startsWithDriveLetter: Bool {
        guard position + 1 < input.count, Self.isDriveLetter(input[position...(position + 1)]) else { return false }
        return isBoundary(byte(after: 2))
    }

    static func isDriveLetter(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count == 2, let first = bytes.first, let last = bytes.last else { return false }
        return first.isASCIILetter && (last == UInt8(ascii: ":") || last == UInt8(ascii: "|"))
    }

    /// Whether a path's first segment is `C:`.
    static func startsWithNormalizedDriveLetter(_ path: ArraySlice<UInt8>) -> Bool {
        let start = path.startIndex
        guard path.count >= 3, path[start + 1].isASCIILetter, path[start + 2] == UInt8(ascii: ":") else { return false }
        return path.count == 3 || path[start + 3] == UInt8(ascii: "/")
    }
}
