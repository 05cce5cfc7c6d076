package import FetchJobs
import HTTPTypes

/// The contract of every form of ``NodeClient``.
package enum NodeClientContract {
    package struct Subject: Sendable {
        package let client: any NodeClient
        /// The URL of a node that responds to `GET /v1/jobs` with the status 404, the field `Retry-After: 7` and the
        /// body `nobody`.
        package let node: String
        /// A URL at which no node listens.
        package let nowhere: String

        package init(client: any NodeClient, node: String, nowhere: String) {
            self.client = client
            self.node = node
            self.nowhere = nowhere
        }

        fileprivate func send(to url: String) async throws -> NodeAnswer {
            let request = NodeRequest(method: .get, target: "/v1/jobs", headers: [:], patience: .seconds(10))
            return try await client.send(request, to: url)
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("the response of a node comes as that node sent it") { subject in
            let answer = try await subject.send(to: subject.node)
            var body: [UInt8] = []
            while let bytes = try await answer.next() { body += bytes }
            return compare("status", answer.status.code, 404)
                + compare("field", answer.headers[.retryAfter], "7")
                + compare("body", String(decoding: body, as: UTF8.self), "nobody")
        },
        Clause("a node at which nobody listens is unreachable") { subject in
            do {
                _ = try await subject.send(to: subject.nowhere)
                return ["It responded."]
            } catch is NodeUnreachable {
                return []
            }
        },
    ]
}
