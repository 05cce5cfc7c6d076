import AsyncHTTPClient
import Foundation
import Measuring
import NIOCore
import NIOPosix
import NIOSSL

/// AsyncHTTPClient on one event loop.
///
/// PEER_CA names the certificate authority, PEER_HTTP1=1 keeps to HTTP/1.1.
let run = Run()
let environment = ProcessInfo.processInfo.environment
var configuration = HTTPClient.Configuration()
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = run.concurrency
if environment["PEER_HTTP1"] != nil { configuration.httpVersion = .http1Only }
if let authority = environment["PEER_CA"] {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(authority)
    configuration.tlsConfiguration = tls
}
let client = HTTPClient(
    eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), configuration: configuration)
let url = run.url.absoluteString
let start = Spent.now
let failed = await withTaskGroup(of: Int.self) { group in
    for share in run.shares {
        group.addTask {
            var failed = 0
            for _ in 0..<share {
                do {
                    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
                    let body = try await response.body.collect(upTo: 1 << 20)
                    if response.status != .ok || body.readableBytes == 0 { failed += 1 }
                } catch {
                    failed += 1
                }
            }
            return failed
        }
    }
    var failed = 0
    for await share in group { failed += share }
    return failed
}
Spent.report(run, failed: failed, since: start)
try await client.shutdown()
