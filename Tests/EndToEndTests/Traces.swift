import Foundation
import Postgres
import TestSupport
import Testing

extension ServiceProcess.Place {
    /// Whether a text is anywhere on a disk: in the database, its files and its log of changes, or among the files of
    /// the services.
    func holds(_ text: String) async throws -> Bool {
        let everywhere = [try #require(database.directory), directory]
        // Pages that lie in the database's memory alone are written out.
        try await database.client.query("CHECKPOINT")
        return try await onThread {
            let program = try Program(["/usr/bin/grep", "-rlaF", "-e", text] + everywhere, readsOutput: true)
            let output = program.output()
            _ = program.waitForEnd()
            return !output.isEmpty
        }
    }
}
