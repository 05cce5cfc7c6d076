import FetchJobs
import Hummingbird
import NIOCore

// A list of jobs as comma-separated values (RFC 4180).

extension JobActionRoutes {
    /// The jobs of a filter as a table, read page by page as it is sent.
    func table(of filter: JobFilter, _ tenant: Tenant.ID) async throws -> Response {
        let jobs = jobs
        let first = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize))
        var response = Response.lines(pages: first, head: JobTable.head) { page in
            guard let last = page.rest else { return nil }
            return try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize, after: last))
        } write: { page, writer in
            try await writer.write(ByteBuffer(string: page.map(JobTable.line).joined()))
        }
        response.headers[.contentType] = "text/csv; charset=utf-8"
        return response
    }
}

/// The lines of a table of jobs.
enum JobTable {
    static let head = "id,state,createdAt,finishedAt,method,url,status,error\r\n"

    static func line(_ job: JobSummary) -> String {
        let cells = [
            job.id.description, job.state.rawValue, job.createdAt.description, job.finishedAt?.description, job.method,
            job.url, job.status.map { "\($0)" }, job.errorName,
        ]
        return cells.map { cell($0 ?? "") }.joined(separator: ",") + "\r\n"
    }

    /// A text that a spreadsheet takes for a text: one that begins like a formula gets an apostrophe before it.
    static func cell(_ text: String) -> String {
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } ?? false
        let shown = isFormula ? "'\(text)" : text
        guard shown.contains(where: { ",\"\r\n".contains($0) || $0.isNewline }) else { return shown }
        return "\"\(shown.replacing("\"", with: "\"\""))\""
    }
}
