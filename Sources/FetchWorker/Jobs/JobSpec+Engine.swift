// What a job asks for, in the engine's words.

import FetchEngine
import FetchJobs
import HTTPTypes

extension Request {
    init(_ job: JobRequest) {
        var headers = job.headers
        if let contentType = job.body?.contentType, headers[.contentType] == nil {
            headers[.contentType] = contentType
        }
        self.init(
            url: job.url, method: job.method, headerFields: headers,
            body: job.body.map { .bytes($0.bytes) },
            cachePolicy: job.cachePolicy ?? .useProtocolCachePolicy, mainDocumentURL: job.mainDocumentURL)
    }
}
