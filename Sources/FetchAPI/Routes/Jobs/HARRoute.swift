import FetchJobs
import HTTPTypes
import Hummingbird

/// The transfers of a job as an HTTP Archive (HAR 1.2), which browsers and other tools show.
struct HARRoute: Sendable {
    let jobs: any JobStore

    var routes: [Route] { [Route(.get, "/v1/jobs/{id}/har", tenant: archive)] }

    private func archive(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant) else {
            throw JobRoutes.notFound
        }
        let archive = JSONWriter.object(HAR(job).write)
        var response = Response.json(archive)
        response.headers[.contentDisposition] = "attachment; filename=\"\(id).har\""
        response.headers[.eTag] = SHA256Digest(of: archive).tag
        return response.unlessKnown(to: call)
    }
}

/// An HTTP Archive of every attempt's transfers: without credentials, and without the values of fields that hold them.
struct HAR {
    private let entries: [Entry]
    private let decisions: [(attempt: Int, decisions: RawJSON)]

    init(_ job: Job) {
        decisions = job.attempts.compactMap { attempt in attempt.decisions.map { (attempt.number, $0) } }
        let spec = (try? JSONParser.parse(job.spec.bytes))?.member("request")
        let redirects = job.redirects.flatMap { try? JSONParser.parse($0.bytes) }?.elements ?? []
        let response = job.response.flatMap { try? JSONParser.parse($0.bytes) }
        entries = job.attempts.flatMap { attempt in
            let isLast = attempt.number == job.attempts.last?.number
            return Self.entries(
                of: attempt, request: spec, redirects: isLast ? redirects : [], response: isLast ? response : nil)
        }
    }

    /// The transfers of one attempt, each with its details: for a redirect its target, for the last one its response.
    private static func entries(
        of attempt: Job.Attempt,
        request: JSONValue?,
        redirects: [JSONValue],
        response: JSONValue?
    ) -> [Entry] {
        let transfers = attempt.metrics.flatMap { try? JSONParser.parse($0.bytes) }?.elements ?? []
        var (url, method) = (request?.member("url")?.text, request?.member("method")?.text ?? "GET")
        var hops = redirects.makeIterator()
        return transfers.enumerated().map { index, transfer in
            var entry = Entry(transfer, number: attempt.number, method: method)
            // Metrics leave the query out.
            if let url, url.prefix(while: { $0 != "?" && $0 != "#" }) == entry.url { entry.url = url }
            // Where no fields are on record, those of the job tell what was to be sent.
            entry.requestHeaders = (transfer.member("requestHeaders") ?? request?.member("headers"))?.elements ?? []
            if index == transfers.count - 1 { entry.take(response) }
            entry.takeRecord()
            if (300..<400).contains(entry.status), let hop = hops.next() {
                (url, method) = (hop.member("location")?.text, hop.member("method")?.text ?? method)
                entry.redirectURL = url ?? ""
            }
            return entry
        }
    }

    func write(_ writer: inout JSONWriter) {
        writer.member(
            "log",
            object: { writer in
                writer.member("version", "1.2")
                writer.member(
                    "creator",
                    object: { writer in
                        writer.member("name", "fetchd")
                        writer.member("version", "1")
                    })
                writer.member("entries", array: { writer in entries.forEach { $0.write(&writer) } })
                guard !decisions.isEmpty else { return }
                writer.member("_decisions", array: writeDecisions)
            })
    }
}

extension HAR {
    private func writeDecisions(_ writer: inout JSONWriter) {
        for (attempt, decisions) in decisions {
            writer.object { writer in
                writer.member("attempt", attempt)
                writer.member("decisions", decisions)
            }
        }
    }

    fileprivate struct Entry {
        private let transfer: JSONValue
        private let number: Int
        private let method: String
        var url: String
        let status: Int64
        var redirectURL = ""
        var requestHeaders: [JSONValue] = []
        private var responseHeaders: [JSONValue] = []
        private var mimeType = ""

        init(_ transfer: JSONValue, number: Int, method: String) {
            self.transfer = transfer
            self.number = number
            self.method = method
            url = transfer.member("url")?.text ?? ""
            // Readers of HAR take 0 for a load without a response.
            status = transfer.member("status")?.integer ?? 0
        }

        /// Takes over the response that the job has.
        mutating func take(_ response: JSONValue?) {
            guard let response, response.member("status")?.integer == status else { return }
            responseHeaders = response.member("headers")?.elements ?? []
            mimeType = response.member("mimeType")?.text ?? ""
        }

        /// Takes over the fields that the response of this very transfer had, where they are on record.
        mutating func takeRecord() {
            guard let recorded = transfer.member("responseHeaders")?.elements else { return }
            responseHeaders = recorded
            guard mimeType.isEmpty else { return }
            let type = recorded.first { $0.member("name")?.text?.lowercased() == "content-type" }
            mimeType = type?.member("value")?.text ?? ""
        }

        func write(_ writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("startedDateTime", transfer.member("fetchStart")?.text)
                writer.member("time", milliseconds(transfer.member("duration")?.double ?? 0))
                writer.member("request", object: writeRequest)
                writer.member("response", object: writeResponse)
                writer.member("cache", object: { _ in })
                writer.member("timings", object: writeTimings)
                writer.member("serverIPAddress", transfer.member("remoteAddress")?.text)
                writer.member("comment", "attempt \(number)")
            }
        }

        private func writeRequest(_ writer: inout JSONWriter) {
            writer.member("method", method)
            writer.member("url", url)
            writer.member("httpVersion", transfer.member("networkProtocolName")?.text ?? "")
            writer.member("cookies", array: { _ in })
            writer.member("headers", array: { Self.write(requestHeaders, &$0) })
            writer.member("queryString", array: writeQuery)
            writer.member("headersSize", transfer.member("countOfRequestHeaderBytesSent")?.integer ?? -1)
            writer.member("bodySize", transfer.member("countOfRequestBodyBytesSent")?.integer ?? -1)
        }

        private func writeResponse(_ writer: inout JSONWriter) {
            let bytes = transfer.member("countOfResponseBodyBytesReceived")?.integer ?? -1
            writer.member("status", status)
            writer.member("statusText", "")
            writer.member("httpVersion", transfer.member("networkProtocolName")?.text ?? "")
            writer.member("cookies", array: { _ in })
            writer.member("headers", array: { Self.write(responseHeaders, &$0) })
            writer.member(
                "content",
                object: { writer in
                    writer.member("size", max(0, bytes))
                    writer.member("mimeType", mimeType)
                })
            writer.member("redirectURL", redirectURL)
            writer.member("headersSize", transfer.member("countOfResponseHeaderBytesReceived")?.integer ?? -1)
            writer.member("bodySize", bytes)
        }

        /// The parts of the query as they stand in the URL.
        private func writeQuery(_ writer: inout JSONWriter) {
            let query = url.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
            for pair in query.split(separator: "&") {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                writer.object { writer in
                    writer.member("name", String(parts[0]))
                    writer.member("value", parts.count > 1 ? String(parts[1]) : "")
                }
            }
        }

        /// In milliseconds, -1 for a phase that did not happen; `connect` includes `ssl`.
        private func writeTimings(_ writer: inout JSONWriter) {
            let sent = span("request")
            let received = span("response")
            let wait = sent.flatMap { sent in received.map { max(0, $0.start - sent.end) } }
            let phases = [span("domainLookup"), span("connect"), sent, received].compactMap { $0 }
            let busy = phases.reduce(wait ?? 0) { $0 + $1.end - $1.start }
            writer.member("blocked", milliseconds(max(0, (transfer.member("duration")?.double ?? 0) - busy)))
            writer.member("dns", length("domainLookup"))
            writer.member("connect", length("connect"))
            writer.member("ssl", length("secureConnection"))
            writer.member("send", max(0, length("request")))
            writer.member("wait", milliseconds(wait ?? 0))
            writer.member("receive", max(0, length("response")))
        }

        private func span(_ phase: String) -> (start: Double, end: Double)? {
            guard let ends = transfer.member(phase)?.elements, ends.count == 2, let start = ends[0].double,
                let end = ends[1].double
            else { return nil }
            return (start, max(start, end))
        }

        private func length(_ phase: String) -> Double { span(phase).map { milliseconds($0.end - $0.start) } ?? -1 }

        /// To the microsecond.
        private func milliseconds(_ seconds: Double) -> Double { (seconds * 1_000_000).rounded() / 1000 }

        private static func write(_ headers: [JSONValue], _ writer: inout JSONWriter) {
            for header in headers {
                guard let name = header.member("name")?.text, let value = header.member("value")?.text else { continue }
                writer.object { writer in
                    writer.member("name", name)
                    writer.member("value", Redaction.hides(fieldNamed: name) ? Redaction.text : value)
                }
            }
        }
    }
}
