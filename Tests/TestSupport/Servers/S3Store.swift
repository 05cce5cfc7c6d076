import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes

/// A server of the S3 protocol on loopback whose keys are `key` and `secret`.
///
/// moto's, which the tests of a process share, or the one at the port that the variable `S3_STORE_PORT` names:
/// `scripts/check-radosgw` runs the tests over Ceph's.
package struct S3Store: Sendable {
    package let port: UInt16

    package init() async throws {
        if let named = ProcessInfo.processInfo.environment["S3_STORE_PORT"] {
            guard let port = UInt16(named) else { throw CocoaError(.formatting) }
            self.port = port
        } else {
            port = try await LoopbackServer.s3().port
        }
    }

    package func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Makes a bucket, and returns its name.
    package func bucket() async throws -> String {
        let name = UUID().uuidString.lowercased()
        var request = Request(url: try URLRecord(url("/\(name)")), method: .put)
        let credentials = SignatureV4.Credentials(accessKeyID: "key", secretAccessKey: "secret", sessionToken: nil)
        try SignatureV4(credentials: credentials, region: "us-east-1", service: "s3").sign(&request, at: .now)
        guard try await Session().data(for: request).1.status == .ok else { throw CocoaError(.fileWriteUnknown) }
        return name
    }
}
