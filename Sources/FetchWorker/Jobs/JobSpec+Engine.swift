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
