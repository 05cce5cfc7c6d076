import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// Health, version, metrics and the description of the API.
struct ServiceRoutes: Sendable {
    let readiness: any Readiness
    /// Whether the server was asked to stop.
    let isStopping: @Sendable () -> Bool
    let metrics: MetricsRegistry
    let version: String
    let schemaVersion: Int

    var routes: [Route] {
        [
            Route(.get, "/healthz") { _ in .json { $0.member("status", "ok") } },
            Route(.get, "/readyz", ready),
            Route(.get, "/version", version),
            Route(.get, "/metrics") { _ in .text(metrics.text, type: MetricsRegistry.contentType) },
        ]
    }

    /// What the service offers, as JSON.
    static let openAPI = Embedded.files["openapi.json"] ?? ""

    /// For everyone, as the health is: whoever replaces nodes one by one follows it.
    ///
    /// It says nothing of the machine, of libraries or of settings.
    private func version(_ call: Call) async throws -> Response {
        _ = try call.query()
        let answer = Response.json { writer in
            writer.member("version", version)
            writer.member("schemaVersion", schemaVersion)
        }
        return try await answer.taggedByContent(for: call)
    }

    private func ready(_ call: Call) async throws -> Response {
        guard !isStopping() else { throw Problem(.notReady, "The node stops.").retrying(after: 1) }
        let obstacles = await readiness.obstacles()
        guard obstacles.isEmpty else {
            throw Problem(.notReady, obstacles.joined(separator: " ")).retrying(after: 1)
        }
        let remarks = await readiness.remarks()
        return .json { writer in
            writer.member("status", "ready")
            guard !remarks.isEmpty else { return }
            writer.member("remarks", array: { writer in for remark in remarks { writer.value(remark) } })
        }
    }
}
