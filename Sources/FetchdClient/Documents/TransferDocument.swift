import FetchEngine
import Foundation

/// One exchange with an origin, as an attempt of a job has it.
struct TransferDocument: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case url, status, networkProtocolName, remoteAddress, remotePort, isReusedConnection, connectionWasLost
        case fetchStart, domainLookup, connect, secureConnection, request, response, duration
        case countOfRequestHeaderBytesSent, countOfRequestBodyBytesSent, countOfResponseHeaderBytesReceived
        case countOfResponseBodyBytesReceived, tlsProtocolVersion, tlsCipherSuite, isProxyConnection, resourceFetchType
        case countOfRequestBodyBytesBeforeEncoding, countOfResponseBodyBytesAfterDecoding
    }

    let url: String
    let status: Int?
    let networkProtocolName: String?
    let remoteAddress: String?
    let remotePort: Int?
    let isReusedConnection: Bool?
    let connectionWasLost: Bool?
    let fetchStart: Date
    let domainLookup: [Double]?
    let connect: [Double]?
    let secureConnection: [Double]?
    let request: [Double]?
    let response: [Double]?
    let duration: Double
    let countOfRequestHeaderBytesSent: Int64?
    let countOfRequestBodyBytesSent: Int64?
    let countOfResponseHeaderBytesReceived: Int64?
    let countOfResponseBodyBytesReceived: Int64?
    let tlsProtocolVersion: String?
    let tlsCipherSuite: String?
    let isProxyConnection: Bool?
    let resourceFetchType: ResourceFetchType?
    let countOfRequestBodyBytesBeforeEncoding: Int64?
    let countOfResponseBodyBytesAfterDecoding: Int64?

    /// - Parameter start: When the task began.
    func metrics(since start: Date) throws -> TransactionMetrics {
        func bounds(_ phase: [Double]?) -> (Duration?, Duration?) {
            (phase?.first.map { .seconds($0) }, phase?.last.map { .seconds($0) })
        }
        var metrics = TransactionMetrics(url: try URLRecord(url))
        metrics.status = status
        metrics.fetchStart = .seconds(max(0, fetchStart.timeIntervalSince(start)))
        (metrics.domainLookupStart, metrics.domainLookupEnd) = bounds(domainLookup)
        (metrics.connectStart, metrics.connectEnd) = bounds(connect)
        metrics.secureConnectionStart = bounds(secureConnection).0
        metrics.secureConnectionEnd = bounds(secureConnection).1
        (metrics.requestStart, metrics.requestEnd) = bounds(request)
        metrics.responseStart = bounds(response).0
        metrics.responseEnd = .seconds(duration)
        metrics.networkProtocolName = networkProtocolName
        metrics.remoteAddress = remoteAddress
        metrics.remotePort = remotePort
        metrics.isReusedConnection = isReusedConnection ?? false
        metrics.connectionWasLost = connectionWasLost ?? false
        metrics.countOfRequestHeaderBytesSent = countOfRequestHeaderBytesSent ?? 0
        metrics.countOfRequestBodyBytesSent = countOfRequestBodyBytesSent ?? 0
        metrics.countOfResponseHeaderBytesReceived = countOfResponseHeaderBytesReceived ?? 0
        metrics.countOfResponseBodyBytesReceived = countOfResponseBodyBytesReceived ?? 0
        metrics.countOfRequestBodyBytesBeforeEncoding =
            countOfRequestBodyBytesBeforeEncoding ?? metrics.countOfRequestBodyBytesSent
        metrics.countOfResponseBodyBytesAfterDecoding =
            countOfResponseBodyBytesAfterDecoding ?? metrics.countOfResponseBodyBytesReceived
        metrics.isProxyConnection = isProxyConnection ?? false
        metrics.resourceFetchType = resourceFetchType ?? .networkLoad
        metrics.negotiatedTLSProtocolVersion = tlsProtocolVersion
        metrics.negotiatedTLSCipherSuite = tlsCipherSuite
        return metrics
    }
}
