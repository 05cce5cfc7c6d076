/// How the lines of the log are written.
enum LogFormat: String, Sendable, CaseIterable {
    /// `time=… level=notice msg="job finished" job.id=job_…`: for `grep`, and for what collects logs.
    case logfmt
    /// One JSON object a line, with the members `time`, `level`, `msg` and those of the event.
    case json
    /// For people at a terminal.
    case pretty

    /// The one for whoever reads: people where a terminal is, else programs.
    static func standard(isTerminal: Bool) -> LogFormat { isTerminal ? .pretty : .logfmt }
}
