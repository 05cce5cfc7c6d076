import FetchJobs
import Logging

/// One event of the log.
struct LogLine {
    /// The bytes of a line with its end, at most: a pipe takes so many whole, and never mixes them with others.
    static let maximumBytes = 4096
    static let maximumMessageBytes = 512
    static let maximumValueBytes = 1024
    private static let maximumNameBytes = 64

    let time: Timestamp
    let level: Logger.Level
    let message: String
    /// Names and values, in the order in which they are written.
    let fields: [(name: String, value: String)]

    /// The line, with its end.
    ///
    /// Fields for which there is no more room are left out, which `log.truncated` says then.
    func bytes(_ format: LogFormat, hasColor: Bool = false) -> [UInt8] {
        var line = head(format, hasColor: hasColor)
        let isJSON = format == .json
        let (cut, end) = (isJSON ? #","log.truncated":"true""# : " log.truncated=true", isJSON ? "}\n" : "\n")
        for (name, value) in fields {
            let field = Self.field(name, value, format)
            guard line.utf8.count + field.utf8.count + cut.utf8.count + end.utf8.count <= Self.maximumBytes else {
                line += cut
                break
            }
            line += field
        }
        return Array((line + end).utf8)
    }

    private func head(_ format: LogFormat, hasColor: Bool) -> String {
        let message = LogText.escaped(message, upTo: Self.maximumMessageBytes)
        switch format {
        case .json: return "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"msg\":\"\(message)\""
        case .logfmt:
            return "time=\(time) level=\(level.rawValue)" + Self.field("msg", self.message, .logfmt)
        case .pretty:
            let level = level.rawValue + String(repeating: " ", count: max(0, 8 - level.rawValue.count))
            return "\(time) \(hasColor ? color + level + "\u{1B}[0m" : level) \(message)"
        }
    }

    /// The sequence that begins the colour of the level.
    private var color: String {
        switch level {
        case .trace, .debug: "\u{1B}[2m"
        case .info: "\u{1B}[32m"
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[31m"
        }
    }

    private static func field(_ name: String, _ value: String, _ format: LogFormat) -> String {
        let name = LogText.escaped(name, upTo: maximumNameBytes)
        let escaped = LogText.escaped(value, upTo: maximumValueBytes)
        if format == .json { return ",\"\(name)\":\"\(escaped)\"" }
        let isWord =
            escaped == value && !value.isEmpty && !value.utf8.contains { $0 == 0x20 || $0 == UInt8(ascii: "=") }
        return isWord ? " \(name)=\(value)" : " \(name)=\"\(escaped)\""
    }
}
