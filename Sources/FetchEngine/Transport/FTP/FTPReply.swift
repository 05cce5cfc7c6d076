/// One line of a reply (RFC 959 §4.2), as far as its code goes.
struct FTPReply: Equatable {
    /// The three digits.
    let code: Int
    /// The text after the digits.
    let text: String
    /// Whether more lines of the same reply follow.
    let isContinued: Bool

    /// Reads a line, with or without its end; nil when it does not start with a code, as inner lines may not.
    init?(_ line: some Collection<UInt8>) {
        let digits = line.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        let rest = line.dropFirst(3)
        guard rest.first.map({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") || $0 < 0x20 }) ?? true else {
            return nil
        }
        code = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        isContinued = rest.first == UInt8(ascii: "-")
        text = String(decoding: rest.dropFirst().prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
    }
}

/// The step at which a server refused.
enum FTPStep: Equatable {
    case logIn
    case changeDirectory
    case retrieve
    case store
}

/// The named errors of a server's refusals.
enum FTPFailure {
    /// The error for a refusal at a step.
    ///
    /// - Parameter reply: The server's last reply, if there was one.
    static func code(at step: FTPStep, reply: FTPReply?) -> LoadError.Code {
        switch (step, reply?.code) {
        // Closing, no connection for the data, or not now: another time may do.
        case (_, 421), (_, 425), (_, 426): .networkConnectionLost
        case (_, 450), (_, 451): .resourceUnavailable
        // 332 wants an account, 530 says that who we are is not enough: at any step (RFC 959 §5.4).
        case (.logIn, _), (_, 332), (_, 530), (_, 532): .userAuthenticationRequired
        case (.store, _): .uploadRefused
        // 550 is all there is for a file that is not there and one that may not be read; only the text tells.
        case (.retrieve, _), (.changeDirectory, _):
            reply.map { saysNotPermitted($0.text) } ?? false ? .noPermissionsToReadFile : .fileDoesNotExist
        }
    }

    /// A sentence for each.
    static func message(for code: LoadError.Code) -> String {
        switch code {
        case .userAuthenticationRequired: "The server wants a user name and a password, or others."
        case .networkConnectionLost: "The connection was lost before the load was complete."
        case .resourceUnavailable: "The server cannot give the file at the moment."
        case .uploadRefused: "The server does not take the file."
        case .noPermissionsToReadFile: "The file may not be read."
        default: "The file does not exist."
        }
    }

    /// The words of the servers that are there: vsftpd and ProFTPD pass on the system's, pyftpdlib has its own.
    private static func saysNotPermitted(_ text: String) -> Bool {
        // They are at its beginning; of the rest a server may make what it likes.
        let text = String(decoding: text.utf8.prefix(1024), as: UTF8.self).lowercased()
        return ["permission denied", "not enough privileges", "access denied", "not permitted"]
            .contains { text.contains($0) }
    }
}

extension LoadError.Code {
    /// The server does not take the upload.
    public static let uploadRefused = Self("uploadRefused", -1011)
}
