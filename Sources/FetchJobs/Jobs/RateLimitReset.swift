import HTTPTypes

extension HTTPFields {
    /// The first of the fields that tell of a rate limit's end which can be read.
    func resetOfRateLimit(now: Timestamp = .now) -> Duration? {
        for name in Self.resets {
            if let text = self[name], let wait = Self.reset(text, now: now) { return wait }
        }
        return nil
    }

    private static let resets = ["X-RateLimit-Reset", "X-RateLimit-Reset-Requests", "X-RateLimit-Reset-Tokens"]
        .map(HTTPField.Name.init(constant:))

    /// Seconds, a time in Unix seconds or as RFC 3339 writes it, or the hours, minutes and seconds that some write as `6m5.2s`.
    private static func reset(_ text: String, now: Timestamp) -> Duration? {
        guard text.utf8.count <= 64 else { return nil }
        if let number = Double(text), number >= 0, number < 1e11 {
            // No wait comes near the time itself.
            let seconds = number > 1_000_000_000 ? number - Double(now.seconds) : number
            return .milliseconds(Int64(Swift.max(seconds, 0) * 1000))
        }
        if let wait = Duration(units: text) { return wait }
        guard let date = Timestamp(rfc3339: text) else { return nil }
        return .microseconds(Swift.max(date.microseconds - now.microseconds, 0))
    }
}

extension Duration {
    /// Reads numbers with the units `d`, `h`, `m`, `s` and `ms`, one after the other: `1d10h30m`.
    package init?(units text: String) {
        var (total, number) = (0.0, "")
        var rest = text.utf8[...]
        guard !rest.isEmpty, rest.count <= 64 else { return nil }
        while let byte = rest.popFirst() {
            if UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: ".") {
                number.unicodeScalars.append(Unicode.Scalar(byte))
                continue
            }
            guard let value = Double(number), value < 1e9 else { return nil }
            number = ""
            switch byte {
            case UInt8(ascii: "d"): total += value * 86_400
            case UInt8(ascii: "h"): total += value * 3600
            case UInt8(ascii: "m") where rest.first == UInt8(ascii: "s"):
                rest.removeFirst()
                total += value / 1000
            case UInt8(ascii: "m"): total += value * 60
            case UInt8(ascii: "s"): total += value
            default: return nil
            }
        }
        guard number.isEmpty, total < 1e10 else { return nil }
        self = .milliseconds(Int64(total * 1000))
    }
}
