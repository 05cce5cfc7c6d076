// The request of a job, as the engine takes it.

import FetchEngine
import FetchJobs
import HTTPTypes

extension Request {
    /// - Parameter contentType: Sent when the client named none.
    init(_ job: JobRequest, body: RequestBody?, contentType: String?) {
        var headers = job.headers
        if let contentType, headers[.contentType] == nil { headers[.contentType] = contentType }
        self.init(
            url: job.url, method: job.method, headerFields: headers, body: body,
            cachePolicy: job.cachePolicy ?? .useProtocolCachePolicy, mainDocumentURL: job.mainDocumentURL)
        writtenURL = job.writtenURL
        if let properties = job.properties { self[.byProtocol] = properties }
    }
}

extension Request {
    private static let priorityField = HTTPField.Name(constant: "Priority")

    /// Tells servers and proxies the priority of its job, unless it tells one itself (RFC 9218 §4.1).
    ///
    /// The priority of most jobs is what they take it for by themselves.
    mutating func tell(priority: Double) {
        let urgency = priority < 0.5 ? 3 + (0.5 - priority) * 8 : 3 - (priority - 0.5) * 6
        guard urgency.rounded() != 3, headerFields[Self.priorityField] == nil else { return }
        headerFields[Self.priorityField] = "u=\(Int(urgency.rounded()))"
    }
}
