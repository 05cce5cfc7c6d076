import HTTPTypes

extension Response {
    /// How long the server asks clients to wait (RFC 9110 §10.2.3): seconds, or a date that it names.
    ///
    /// Nil when it does not say, or not in a way that can be read; zero for a time that has passed.
    package func retryAfter(now: UnixTime = .now) -> Duration? {
        let values = headerFields[values: .retryAfter]
        guard let value = values.first, values.count == 1 else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(Int64(value) ?? .max / 1_000_000_000)
        }
        return HTTPDate.time(value, now: now).map { .microseconds(max(0, $0.microseconds - now.microseconds)) }
    }
}
