import Glibc

/// The line of the terminal that a progress bar is drawn on.
enum Terminal {
    static func draw(_ line: String) { write("\r\(line)\u{1B}[K") }

    static func erase() { write("\r\u{1B}[K") }

    /// Asks for a secret, which is not shown while it is typed; nil where nobody can be asked.
    static func secret(_ prompt: String) -> String? {
        guard isatty(STDIN_FILENO) == 1, let text = getpass(prompt) else { return nil }
        defer { memset(text, 0, strlen(text)) }
        return String(cString: text)
    }

    /// A failure to write here cannot be reported anywhere.
    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

extension ProgressBar.Style {
    /// How to draw on this process's terminal, or `nil` when there is none or the body would run into the bar.
    init?(bodyGoesTo destination: BodyDestination) {
        let bodyIsElsewhere: Bool
        switch destination {
        case .file, .remoteName, .nowhere, .resumed: bodyIsElsewhere = true
        case .standardOutput: bodyIsElsewhere = FileStatus(descriptor: STDOUT_FILENO)?.isRegular == true
        }
        guard bodyIsElsewhere, isatty(STDERR_FILENO) == 1, Self.environment("TERM") != "dumb" else { return nil }
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        // https://no-color.org: present and not empty.
        self.init(columns: isKnown ? Int(size.ws_col) : 80, hasColor: Self.environment("NO_COLOR")?.isEmpty ?? true)
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
