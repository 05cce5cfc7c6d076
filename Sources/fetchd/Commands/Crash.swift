import FetchEngine
import Glibc

/// How a crash ends the service: at once, and without a trace of its memory, which has secrets in clear.
enum Crash {
    #if DEBUG
        /// Has this process end at the point that the environment names, as tests ask for (REL-17).
        static func followEnvironment(_ environment: [String: String]) throws {
            guard let text = environment[CrashPoint.variable], !CrashPoint.arm(text) else { return }
            let names = CrashPoint.allCases.map(\.rawValue).joined(separator: ", ")
            throw ExitError(.configuration, "\(CrashPoint.variable): there is no such point; these are there: \(names)")
        }
    #endif

    /// Makes it so for this process and those that it starts.
    ///
    /// The reporter of Swift's runtime prints the memory at registers, and holds the process while it does, in some
    /// places for ever: a node that neither works nor ends. A limit of 1 byte for cores is too small for any file, and
    /// it alone also keeps the kernel from passing the core to a program, which 0 does not (`fs/coredump.c`).
    static func leavesNothing() {
        for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { Glibc.signal(signal, SIG_DFL) }
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
