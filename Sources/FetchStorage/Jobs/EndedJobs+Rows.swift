import FetchJobs
import Postgres

extension EndedJobs {
    /// Reads the start, the state, the jobs and the bytes of each row; rows of one start stand together.
    ///
    /// - Parameter column: The first of these columns.
    static func read(_ rows: some Sequence<Row>, at column: Int = 0) throws -> [EndedJobs] {
        var ended: [EndedJobs] = []
        for row in rows {
            let start = try row.decode(Timestamp.self, at: column)
            if ended.last?.start != start { ended.append(EndedJobs(start: start)) }
            let state = try row.decode(JobState.self, at: column + 1)
            ended[ended.count - 1].jobs[state] = try row.decode(Int64.self, at: column + 2)
            ended[ended.count - 1].bodyBytes += try row.decode(Int64.self, at: column + 3)
        }
        return ended
    }
}
