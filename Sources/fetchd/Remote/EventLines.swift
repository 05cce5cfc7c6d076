/// Reads server-sent events from the pieces in which they come.
///
/// Only what this service sends is read: lines that end with a line feed, and the fields `event`, `id` and `data`.
struct EventLines {
    struct Event: Equatable {
        var name = "message"
        var data = ""
    }

    /// A line longer than this is no event of ours.
    static let maximumBytes = 16 << 20

    private var rest: [UInt8] = []
    private var event = Event()

    /// The events that a piece completes.
    mutating func take(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                if rest.count < Self.maximumBytes { rest.append(byte) }
                continue
            }
            let line = String(decoding: rest, as: UTF8.self)
            rest.removeAll(keepingCapacity: true)
            if let complete = take(line) { events.append(complete) }
        }
        return events
    }

    private mutating func take(_ line: String) -> Event? {
        guard !line.isEmpty else {
            defer { event = Event() }
            return event.data.isEmpty ? nil : event
        }
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...]
        let text = String(value.hasPrefix(" ") ? value.dropFirst() : value)
        switch line[..<colon] {
        case "event": event.name = text
        case "data": event.data += (event.data.isEmpty ? "" : "\n") + text
        default: break
        }
        return nil
    }
}
