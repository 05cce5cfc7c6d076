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
            body: job.body.map { .bytes($0.bytes) })
    }
}

extension SessionConfiguration {
    /// This configuration with what a job sets itself in place of the session's.
    func overridden(by job: JobConfiguration) -> SessionConfiguration {
        guard job != JobConfiguration() else { return self }
        var result = self
        result.redirects = redirects.overridden(by: job.redirects)
        if let seconds = job.timeouts.timeoutIntervalForRequest {
            result.timeoutIntervalForRequest = .seconds(seconds)
        }
        if let seconds = job.timeouts.timeoutIntervalForResource {
            result.timeoutIntervalForResource = .seconds(seconds)
        }
        if let seconds = job.timeouts.connect { result.connectTimeout = .seconds(seconds) }
        if let maximum = job.connections.maximumPerHost {
            result.httpMaximumConnectionsPerHost = maximum
        }
        switch job.connections.httpVersion {
        case .http1: result.httpVersion = .http1
        case .http2: result.httpVersion = .http2
        case nil: break
        }
        if let maximum = job.response.maximumBytes { result.maximumResponseBytes = maximum }
        return result
    }
}

extension RedirectConfiguration {
    fileprivate func overridden(by job: JobConfiguration.Redirects) -> RedirectConfiguration {
        var result = self
        switch job.policy {
        case .follow: result.policy = .follow
        case .return: result.policy = .return
        case .fail: result.policy = .fail
        case nil: break
        }
        if let maximum = job.maximum { result.maximum = maximum }
        if let allows = job.allowHTTPSToHTTP { result.allowHTTPSToHTTP = allows }
        if let preserves = job.preserveMethod { result.preserveMethod = preserves }
        if let hosts = job.allowedHosts { result.allowedHosts = Set(hosts) }
        return result
    }
}
