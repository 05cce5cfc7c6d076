/// Reads server-sent events (WHATWG HTML §9.2.6); one that no empty line ends does not count.
struct EventParser {
    /// More than the service sends.
    private static let maximumBytes = 16 << 20

    /// How long the server wants clients to wait before they come back.
    private(set) var retry: Duration?
    private var bytes: [UInt8] = []
    /// Where the line begins that is not ended yet, and up to where its end was looked for.
    private var (line, scanned) = (0, 0)
    private var id: String?
    private var type = ""
    private var data: [UInt8] = []
    private var hasData = false

    mutating func add(_ more: [UInt8]) {
        bytes.removeFirst(line)
        scanned -= line
        line = 0
        bytes += more
    }

    /// The next event that is whole.
    mutating func next() throws(FetchdError) -> JobEvent? {
        while let end = bytes[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
            var text = bytes[line..<end]
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
            (line, scanned) = (end + 1, end + 1)
            if text.isEmpty {
                if let event = try dispatch() { return event }
            } else {
                take(text)
            }
        }
        scanned = bytes.count
        guard bytes.count - line + data.count <= Self.maximumBytes else {
            throw FetchdError(.answerInvalid, "An event is too long.")
        }
        return nil
    }

    private mutating func take(_ text: ArraySlice<UInt8>) {
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
        var value = colon.map { text[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: text[..<(colon ?? text.endIndex)], as: UTF8.self) {
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        case "event": type = String(decoding: value, as: UTF8.self)
        // It goes into a header field.
        case "id" where value.count < 200 && value.allSatisfy({ (0x21...0x7E).contains($0) }):
            id = String(decoding: value, as: UTF8.self)
        case "retry": retry = Int64(String(decoding: value.prefix(8), as: UTF8.self)).map { .milliseconds($0) } ?? retry
        default: break
        }
    }

    private mutating func dispatch() throws(FetchdError) -> JobEvent? {
        defer { (id, type, data, hasData) = (nil, "", [], false) }
        guard hasData else { return nil }
        let value: JSONValue = try decoded(data)
        return JobEvent(id: id, type: type.isEmpty ? "message" : type, data: value, content: data)
    }
}
