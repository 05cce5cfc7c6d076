import Glibc

/// A file that holds the value of a secret setting and nothing else, so that neither an environment nor a list of
/// processes shows it.
///
/// It is named by the setting's variable with `_FILE` behind it, or is the credential of the variable's name that
/// systemd passes on.
struct SecretFile: Sendable {
    /// The most bytes of a file; no secret is as long.
    static let maximumBytes = 64 << 10

    let path: String
    /// The variable or the credential by which the file was given, for errors.
    let variable: String

    /// The file of a setting; nil when none is named.
    ///
    /// - Throws: A failure when the setting is no secret, or is given twice.
    init?(of setting: Setting, in environment: [String: String]) throws(Settings.Failure) {
        let named = environment[setting.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        let credential = Self.credential(of: setting, in: environment)
        guard let path = named ?? credential else { return nil }
        variable = named == nil ? "credential \(setting.variable)" : setting.fileVariable
        self.path = path
        guard setting.isSecret else {
            throw Settings.Failure(
                variable, "\(setting.variable) is no secret, and is given by its value and not by a file")
        }
        let isGiven = environment[setting.variable].map { !$0.isEmpty || setting.mayBeEmpty } ?? false
        guard !isGiven, named == nil || credential == nil else {
            throw Settings.Failure(
                variable, "\(setting.variable) is given twice, by \(isGiven ? "its value" : "a credential") too")
        }
    }

    /// The place of a credential that systemd passes on for a setting; nil when there is none.
    private static func credential(of setting: Setting, in environment: [String: String]) -> String? {
        guard let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty else { return nil }
        let path = "\(directory)/\(setting.variable)"
        return access(path, F_OK) == 0 ? path : nil
    }

    /// The value, without the line break at its end.
    ///
    /// - Throws: A failure that names the variable, the file and the rule that it breaks, and nothing of its content.
    func value() throws(Settings.Failure) -> String {
        guard path.hasPrefix("/") else { throw failure("is not an absolute path") }
        // To open a pipe without a writer would block; only regular files are read.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw failure("cannot be opened: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        guard let status = FileStatus(descriptor: descriptor), status.isRegular else { throw failure("is no file") }
        guard !status.isOpenToAll else {
            throw failure("may be read or written by every user: take that away (chmod o= FILE)")
        }
        var bytes = try content(of: descriptor)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw failure("is empty") }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw failure("must hold one line of UTF-8 without control characters") }
        return text
    }

    private func content(of descriptor: CInt) throws(Settings.Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { room in
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                return read(descriptor, rest.baseAddress, rest.count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw failure("cannot be read: \(String(cString: strerror(errno)))") }
            if got == 0 { break }
            count += got
        }
        guard count <= Self.maximumBytes else { throw failure("has more than \(Self.maximumBytes) bytes") }
        return Array(bytes.prefix(count))
    }

    private func failure(_ fault: String) -> Settings.Failure { Settings.Failure(variable, "\(path) \(fault)") }
}

extension Setting {
    /// The environment variable for the file of a secret.
    var fileVariable: String { "\(variable)_FILE" }
}
