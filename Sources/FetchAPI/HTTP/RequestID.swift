import FetchJobs
import HTTPTypes

/// The name of one exchange, in every response and log line about it.
struct RequestID: Sendable, Equatable {
    let text: String

    /// The client's own, when it sent one that is well formed, or a new one.
    init(of fields: HTTPFields) {
        if let text = fields[.requestID], Self.isWellFormed(text) {
            self.init(text: text)
        } else {
            self.init()
        }
    }

    init() { self.init(text: UUIDv7().base32) }

    private init(text: String) { self.text = text }

    private static func isWellFormed(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
