import FetchEngine
package import FetchJobs
import Glibc

/// A syslog daemon that gets the entries of the audit log as messages of the facility 13, "log audit".
///
/// A socket of this machine gets them as syslog(3) writes them, which is what daemons read there: `fetchd[42]: {…}`. A
/// TCP port gets RFC 5424 with a count of octets before each message (RFC 6587 §3.4.1). Syslog has no acknowledgement;
/// but a receiver that closes its side after we have closed ours has read all, so each batch has a connection of its
/// own. A port with TLS gets the same by RFC 5425, once its certificate has been verified.
package struct AuditSyslog: AuditSink {
    /// How long a receiver may take for anything, in seconds.
    static let patience = 5

    private let address: SyslogAddress
    private let files: SyslogTLS

    /// - Parameter files: For an address with TLS.
    package init(_ address: SyslogAddress, files: SyslogTLS = SyslogTLS()) {
        self.address = address
        self.files = files
    }

    package var name: String { address.description }
    package var kind: AuditSinkKind { .syslog }

    package func write(_ entries: [AuditEntry]) async throws(AuditSinkFailure) {
        let form = SyslogForm()
        let failure: String?
        switch address {
        case .unix(let path):
            let messages = entries.map { form.local($0) }
            failure = await onOwnThread { SyslogSocket.send(messages, toSocketAt: path) }
        case .tcp(let host, let port):
            let stream = entries.flatMap { form.counted($0) }
            failure = await onOwnThread { SyslogSocket.send(stream, to: host, port) }
        case .tls(let host, let port):
            let stream = entries.flatMap { form.counted($0) }
            failure = await onOwnThread { [files] in SyslogSocket.send(stream, to: host, port, files) }
        }
        if let failure { throw AuditSinkFailure("\(address): \(failure)") }
    }
}

/// Entries as syslog messages.
struct SyslogForm: Sendable {
    static let facility = 13

    private let host: String
    private let process = getpid()

    init() {
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&name, name.count - 1) == 0
        host = isKnown ? Self.printable(String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)) : "-"
    }

    /// As syslog(3) writes it for a socket of this machine.
    func local(_ entry: AuditEntry) -> [UInt8] {
        var time = time_t(entry.at.microseconds / 1_000_000)
        var parts = tm()
        localtime_r(&time, &parts)
        let day = Int(parts.tm_mday)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { ($0 < 10 ? "0" : "") + String($0) }
        let stamp = "\(Self.months[Int(parts.tm_mon)]) \(day < 10 ? " " : "")\(day) \(clock.joined(separator: ":"))"
        return Array("<\(Self.priority(entry))>\(stamp) fetchd[\(process)]: ".utf8) + entry.line
    }

    /// RFC 5424: the action is the MSGID, the entry the MSG.
    func standard(_ entry: AuditEntry) -> [UInt8] {
        let action = String(Self.printable(entry.action).prefix(32))
        let header = "<\(Self.priority(entry))>1 \(entry.at.exact) \(host) fetchd \(process) \(action) - "
        return Array(header.utf8) + entry.line
    }

    /// The same behind its count of octets.
    func counted(_ entry: AuditEntry) -> [UInt8] {
        let message = standard(entry)
        return Array("\(message.count) ".utf8) + message
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// What was refused is a warning, all else a notice.
    private static func priority(_ entry: AuditEntry) -> Int {
        switch AuditAction(rawValue: entry.action) {
        case .refuseRequest, .refuseTarget, .failToSignIn: facility * 8 + 4
        default: facility * 8 + 5
        }
    }

    /// A text that a header takes; `-` for none (RFC 5424 §6).
    private static func printable(_ text: String) -> String {
        let clean = String(decoding: text.utf8.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
        return clean.isEmpty ? "-" : clean
    }
}
