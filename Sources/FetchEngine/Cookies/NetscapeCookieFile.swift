/// Cookies as the file that Netscape had and that curl, wget and browsers' tools read and write.
///
/// One cookie a line, seven fields between tabs: domain, whether hosts below it get it, path, whether it is secure,
/// when it ends in seconds since 1970 (0 for a session cookie), name and value. `#HttpOnly_` before the domain marks
/// cookies that scripts may not see. `SameSite`, partitions and creation times have no place in it.
public struct NetscapeCookieFile: Sendable {
    /// The cookies in the order of the lines.
    public var cookies: [Cookie]

    /// The numbers of lines that hold no cookie and are neither empty nor a comment, from 1.
    public private(set) var rejectedLines: [Int] = []

    /// Makes a file of cookies.
    public init(_ cookies: [Cookie]) { self.cookies = cookies }

    /// Reads a file; any bytes may be given.
    ///
    /// Cookies that have expired are left out; a lifetime is cut to 400 days.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - now: The time of reading, which is also when its cookies are set.
    public init(reading bytes: [UInt8], at now: UnixTime = .now) {
        cookies = []
        var number = 0
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            number += 1
            guard let fields = Self.fields(of: line) else { continue }
            guard let cookie = Self.cookie(fields, at: now) else {
                rejectedLines.append(number)
                continue
            }
            if !cookie.isExpired(at: now) { cookies.append(cookie) }
        }
    }

    /// The file.
    ///
    /// A cookie with a tab in its name or path cannot be written and is left out.
    public var bytes: [UInt8] {
        var result = Array("# Netscape HTTP Cookie File\n\n".utf8)
        for cookie in cookies where !cookie.nameBytes.contains(0x09) && !cookie.path.utf8.contains(0x09) {
            if cookie.isHTTPOnly { result += Self.httpOnlyMark.utf8 }
            result += "\(cookie.isHostOnly ? "" : ".")\(cookie.domain)".utf8
            result += "\t\(Self.flag(!cookie.isHostOnly))\t\(cookie.path)\t\(Self.flag(cookie.isSecure))".utf8
            result += "\t\(Self.seconds(cookie.expires))\t".utf8
            result += cookie.nameBytes + [0x09] + cookie.valueBytes + [0x0A]
        }
        return result
    }

    private static let httpOnlyMark = "#HttpOnly_"

    private static func flag(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }

    /// Never 0, which would make a session cookie of it.
    private static func seconds(_ expires: UnixTime?) -> Int64 { expires.map { max(1, $0.seconds) } ?? 0 }

    /// The fields of a line and whether it is marked, or `nil` for an empty line or a comment.
    private static func fields(of line: ArraySlice<UInt8>) -> (fields: [ArraySlice<UInt8>], isHTTPOnly: Bool)? {
        var line = line.last == 0x0D ? line.dropLast() : line
        let isHTTPOnly = line.starts(with: httpOnlyMark.utf8)
        if isHTTPOnly { line = line.dropFirst(httpOnlyMark.utf8.count) }
        guard !line.trimmed.isEmpty, line.first != UInt8(ascii: "#") else { return nil }
        // The value is all text after the name, tabs included.
        return (line.split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false), isHTTPOnly)
    }

    private static func cookie(_ line: (fields: [ArraySlice<UInt8>], isHTTPOnly: Bool), at now: UnixTime) -> Cookie? {
        let fields = line.fields
        // Some writers leave the value of an empty cookie and the tab before it out.
        guard fields.count >= 6, let seconds = Int64(String(decoding: fields[4], as: UTF8.self)), seconds >= 0,
            let reachesBelow = isTrue(fields[1]), let isSecure = isTrue(fields[3])
        else { return nil }
        let dots = fields[0].first == UInt8(ascii: ".") ? 1 : 0
        let host = String(decoding: fields[0].dropFirst(dots), as: UTF8.self)
        let latest = now.advanced(by: .seconds(Cookie.maximumAge))
        return try? Cookie(
            nameBytes: Array(fields[5]), valueBytes: fields.count > 6 ? Array(fields[6]) : [],
            domain: (reachesBelow ? "." : "") + host, path: String(decoding: fields[2], as: UTF8.self),
            expires: seconds == 0 ? nil : min(UnixTime(seconds: seconds), latest), isSecure: isSecure,
            isHTTPOnly: line.isHTTPOnly, creationTime: now)
    }

    private static func isTrue(_ field: ArraySlice<UInt8>) -> Bool? {
        guard field.count <= 5 else { return nil }
        return switch String(decoding: field, as: UTF8.self).uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }
}
