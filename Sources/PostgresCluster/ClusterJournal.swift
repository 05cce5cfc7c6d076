import Logging
import Subprocess
import Synchronization

/// The output of PostgreSQL and its supervisor, carried into our log.
///
/// The last complaints are kept as the reason of a failure.
final class ClusterJournal: Sendable {
    private let logger: Logger
    private let complaints = Mutex<[String]>([])

    init(logger: Logger) { self.logger = logger }

    var reason: String { complaints.withLock { $0.joined(separator: " ") } }

    func record(_ output: SubprocessOutputSequence) async throws {
        for try await line in output.strings() where !line.isEmpty { record(line) }
    }

    private func record(_ line: String) {
        // Our own probes get this message while the server starts.
        guard !line.contains("the database system is starting up") else { return }
        let isComplaint = ["WARNING:", "ERROR:", "FATAL:", "PANIC:", "initdb: error:"].contains { line.hasPrefix($0) }
        logger.log(level: isComplaint ? .info : .debug, "database server", metadata: ["database.log": "\(line)"])
        guard isComplaint || line.hasPrefix("HINT:") || line.hasPrefix("initdb: hint:") else { return }
        complaints.withLock { complaints in
            complaints.append(line)
            if complaints.count > 4 { complaints.removeFirst() }
        }
    }
}
