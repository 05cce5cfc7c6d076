import Foundation
import FoundationNetworking
import Measuring

/// FoundationNetworking's URLSession, in its completion form, which its async form wraps.
let run = Run()
let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = run.concurrency
configuration.urlCache = nil
let session = URLSession(configuration: configuration)
let start = Spent.now
let failed = await withTaskGroup(of: Int.self) { group in
    for share in run.shares {
        group.addTask {
            var failed = 0
            for _ in 0..<share {
                let isWell = await withCheckedContinuation { continuation in
                    session.dataTask(with: run.url) { data, response, _ in
                        let status = (response as? HTTPURLResponse)?.statusCode
                        continuation.resume(returning: status == 200 && data?.isEmpty == false)
                    }.resume()
                }
                if !isWell { failed += 1 }
            }
            return failed
        }
    }
    var failed = 0
    for await share in group { failed += share }
    return failed
}
Spent.report(run, failed: failed, since: start)
