import Logging

extension Logger {
    /// Says nothing that a test could not do without.
    static var silent: Logger {
        var logger = Logger(label: "worker-tests")
        logger.logLevel = .critical
        return logger
    }
}
