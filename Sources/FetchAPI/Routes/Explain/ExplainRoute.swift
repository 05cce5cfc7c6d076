import FetchJobs
import HTTPTypes
import Hummingbird

/// Explains why a job ended as it did, from the records of its attempts alone.
struct ExplainRoute: Sendable {
    let jobs: any JobStore

    var routes: [Route] { [Route(.get, "/v1/jobs/{id}/explain", tenant: explain)] }

    private func explain(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant) else {
            throw JobRoutes.notFound
        }
        return .json(JSONWriter.object(Explanation(job).write))
    }
}

/// The recorded decisions of a job: those of its rules and delegate, and those that follow from HTTP.
struct Explanation {
    private let job: Job
    private let request: JSONValue?
    private let response: JSONValue?

    init(_ job: Job) {
        self.job = job
        // JSON that cannot be read counts as absent.
        request = (try? JSONParser.parse(job.spec.bytes))?.member("request")
        response = job.response.flatMap { try? JSONParser.parse($0.bytes) }
    }

    func write(_ writer: inout JSONWriter) {
        writer.member("job", job.id.description)
        writer.member("state", job.state.rawValue)
        writer.member("attempts", array: { writer in job.attempts.forEach { write($0, &writer) } })
        if let redirects = job.redirects { writer.member("hops", array: { write(redirects, &$0) }) }
        writer.member("challenges", job.challenges)
        guard let response else { return }
        if response.member("cacheStatus") != nil || response.member("fromCache") != nil {
            writer.member(
                "cache",
                object: { writer in
                    for name in ["fromCache", "cacheStatus"] { Self.copy(name, of: response, &writer) }
                })
        }
        Self.copy("cookies", of: response, &writer)
    }

    private func write(_ attempt: Job.Attempt, _ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", attempt.number)
            writer.member("startedAt", attempt.startedAt.description)
            writer.member("finishedAt", attempt.finishedAt.description)
            writer.member("state", attempt.state.rawValue)
            writer.member("error", attempt.errorName)
            writer.member("status", attempt.status)
            writer.member("decisions", attempt.decisions ?? RawJSON.array { _ in })
            let transfers = attempt.metrics.flatMap { try? JSONParser.parse($0.bytes) }?.elements ?? []
            writer.member("transfers", array: { writer in transfers.forEach { Self.write(transfer: $0, &writer) } })
            guard let next = attempt.nextAttemptAt else { return }
            writer.member(
                "retry",
                object: { writer in
                    writer.member("at", next.description)
                    writer.member(
                        "delay", Double(next.microseconds - attempt.finishedAt.microseconds) / 1_000_000)
                })
        }
    }

    /// Writes the members of a transfer about its target; the guard has allowed the address.
    private static func write(transfer: JSONValue, _ writer: inout JSONWriter) {
        writer.object { writer in
            for name in [
                "url", "status", "networkProtocolName", "remoteAddress", "remotePort", "isReusedConnection",
                "connectionWasLost",
            ] {
                copy(name, of: transfer, &writer)
            }
        }
    }

    /// Writes the redirects, each with whether it left the origin, and the method before it where it changed that.
    private func write(_ redirects: RawJSON, _ writer: inout JSONWriter) {
        let hops = (try? JSONParser.parse(redirects.bytes))?.elements ?? []
        var method = request?.member("method")?.text
        for hop in hops {
            let isCrossOrigin = Origin(hop.member("url")?.text) != Origin(hop.member("location")?.text)
            let next = hop.member("method")?.text
            writer.object { writer in
                for name in ["url", "status", "location", "method", "cause"] { Self.copy(name, of: hop, &writer) }
                writer.member("crossOrigin", isCrossOrigin)
                if next != method, let method { writer.member("formerMethod", method) }
            }
            method = next
        }
    }

    private static func copy(_ name: String, of object: JSONValue, _ writer: inout JSONWriter) {
        guard let value = object.member(name) else { return }
        writer.name(name)
        writer.value(value)
    }
}

/// The origin of a URL, which distinguishes servers.
private struct Origin: Equatable {
    private let text: Substring

    init(_ url: String?) {
        guard let url, let start = url.firstRange(of: "://") else {
            text = ""
            return
        }
        text = url.prefix(upTo: url[start.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)
    }
}
