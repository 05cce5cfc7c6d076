import FetchEngine
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Yams

/// What one tenant can do with the ids of another's objects.
@Suite struct TenantWallTests {
    /// What operations need before they look for their object; the others get `{}`.
    private static let bodies = [
        "POST /v1/jobs/{id}/questions/{question}": #"{"disposition": "cancel"}"#,
        "PATCH /v1/jobs/{id}": #"{"priority": 0.9}"#,
        "PATCH /v1/schedules/{id}": #"{"labels": {"a": "b"}}"#,
        "PATCH /v1/webhooks/endpoints/{id}": #"{"enabled": false}"#,
    ]

    /// An object of each kind, by the path that all its operations begin with.
    private func makeObjects(_ service: ServiceProcess, _ origin: WireOrigin) async throws -> [String: String] {
        func make(_ path: String, _ body: String, _ headers: HTTPFields = [:]) async throws -> String {
            let answer = try await service.request(.post, path, body: body, headers: headers)
            try #require(answer.status < 300, "\(path): \(answer.text)")
            return try #require(member(answer.json, "id"), "\(path): \(answer.text)")
        }
        var ids: [String: String] = [:]
        ids["/v1/sessions"] = try await make("/v1/sessions", "{}")
        ids["/v1/snapshots"] = try await make("/v1/sessions/\(ids["/v1/sessions"] ?? "")/snapshots", "{}")
        ids["/v1/groups"] = try await make("/v1/groups", "{}")
        let job = #"{"request": {"url": "\#(origin.url("/later"))"}}"#
        ids["/v1/schedules"] = try await make("/v1/schedules", #"{"interval": 3600, "job": \#(job)}"#)
        let space = #""host": "127.0.0.1", "port": 80, "protocol": "http", "authenticationMethod": "httpBearer""#
        ids["/v1/credentials"] = try await make(
            "/v1/credentials", #"{"protectionSpace": {\#(space)}, "bearerToken": "secret"}"#)
        ids["/v1/keys"] = try await make("/v1/keys", #"{"name": "of A", "scopes": ["jobs:read"]}"#)
        ids["/v1/blobs"] = try await make("/v1/blobs", "blob", [.contentType: "text/plain"])
        let upload = try await service.send(
            .post, "/v1/blobs", .bytes(Array("half".utf8)),
            headers: [.uploadComplete: "?0", .contentType: "text/plain"])
        ids["/v1/uploads"] = upload.headers[.location]?.split(separator: "/").last.map(String.init)
        let endpoint = try await make("/v1/webhooks/endpoints", #"{"url": "\#(origin.url("/hook"))"}"#)
        ids["/v1/webhooks/endpoints"] = endpoint
        // Its response is cached, and its end told to the endpoint.
        _ = try await service.fetch(origin.url("/cached"), more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
        for (name, list) in [
            ("/v1/webhooks/deliveries", "/v1/webhooks/deliveries"), ("/v1/cache/entries", "/v1/cache"),
        ] {
            try await until {
                ids[name] = member(try await service.request(.get, list).json, "data", "0", "id")
                return ids[name] != nil
            }
        }
        let asking = try await service.submit(origin.url("/asked"), asking: #"["didReceiveResponse"]"#)
        ids["/v1/jobs"] = asking
        ids["/v1/questions"] = try #require(member(try await service.question(of: asking), "id"))
        let message = try await service.request(
            .post, "/v2/publish/\(origin.url("/later"))?upstash-delay=1h", body: "later")
        ids["/v2/messages"] = try #require(member(message.json, "messageId"), "\(message.text)")
        let scheduled = try await service.request(
            .post, "/v2/schedules/\(origin.url("/later"))?upstash-cron=0%200%201%201%20*", body: "later")
        ids["/v2/schedules"] = try #require(member(scheduled.json, "scheduleId"), "\(scheduled.text)")
        let refused = try await service.request(.post, "/v2/publish/http://10.0.0.1/?upstash-retries=0", body: "of A")
        let failed = try #require(member(refused.json, "messageId", as: String.self), "\(refused.text)")
        _ = try await service.job(failed) { member($0, "state") == "failed" }
        for kind in ["/v2/dlq", "/v2/dlq/retry"] { ids[kind] = failed }
        let queue = try await service.request(.post, "/v2/queues", body: #"{"queueName": "q"}"#)
        try #require(queue.status == 200, "\(queue.text)")
        let group = try await service.request(
            .post, "/v2/topics/g/endpoints", body: #"{"endpoints": [{"url": "https://of.example/A"}]}"#)
        try #require(group.status == 200, "\(group.text)")
        for (path, body) in [("/v1/hosts/127.0.0.1", #"{"parallelism": 5}"#), ("/v1/flows/f", #"{"parallelism": 5}"#)] {
            let answer = try await service.request(.put, path, body: body)
            try #require(answer.status < 300, "\(answer.text)")
        }
        return ids
    }

    /// The rows of a tenant, but for what its own requests and its loads change.
    private func rows(of tenant: Int64, _ database: TestDatabase) async throws -> [String: String] {
        var rows: [String: String] = [:]
        for table in [
            "jobs", "results", "schedules", "groups", "sessions", "session_snapshots", "session_stores", "credentials",
            "cookies", "cache_entries", "blobs", "limiters", "webhook_endpoints", "webhook_deliveries", "questions",
            "queue", "url_group_endpoints",
        ] {
            let found = try await database.client.query(
                """
                SELECT coalesce(string_agg(md5(t::text), ' ' ORDER BY t::text), '')
                FROM \(.identifier(table)) t
                WHERE tenant_id = \(tenant)
                """)
            rows[table] = try found.first?.decode(String.self, at: 0)
        }
        let keys = try await database.client.query(
            "SELECT string_agg(id::text || coalesce(revoked_at::text, '-'), ' ' ORDER BY id) FROM api_keys WHERE tenant_id = \(tenant)"
        )
        rows["api_keys"] = try keys.first?.decode(String.self, at: 0)
        return rows
    }

    // Proves: SEC-41.
    @Test(.timeLimit(.minutes(3)))
    func `every operation of the API answers 404 for the id of another tenant's object, and changes nothing of it`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let ids = try await makeObjects(service, origin)
            let stranger = service.speaking(with: try await place.key(tenant: "other"))
            let document = try await service.request(.get, "/openapi.yaml")
            let paths = try #require(try Yams.load(yaml: document.text) as? [String: Any])["paths"] as? [String: Any]
            let before = try await rows(of: 1, place.database)
            var asked = 0
            for (path, item) in try #require(paths).sorted(by: { $0.key < $1.key }) {
                guard path.contains("{"), !path.hasPrefix("/v1/admin/"), !path.hasPrefix("/docs/"),
                    !path.contains("{destination}")
                else { continue }
                let kind = String(path.prefix { $0 != "{" }.dropLast())
                // These are named by what tenants call them: the other one has its own.
                let name = [
                    "/v1/hosts": "127.0.0.1", "/v1/flows": "f", "/v2/queues": "q", "/v2/topics": "g",
                    "/v2/flowControl": "f",
                ][kind]
                let isName = name != nil
                let id = try #require(name ?? ids[kind], "no object of \(kind)")
                let place = path.replacing(/\{(id|host|key|queue|name)\}/, with: id)
                    .replacing("{question}", with: ids["/v1/questions"] ?? "")
                for method in (item as? [String: Any] ?? [:]).keys where method != "parameters" {
                    let name = "\(method.uppercased()) \(path)"
                    let method = try #require(HTTPRequest.Method(method.uppercased()))
                    let body = method == .get || method == .head ? nil : Self.bodies[name] ?? "{}"
                    let headers: HTTPFields =
                        name == "PATCH /v1/uploads/{id}"
                        ? [.contentType: "application/partial-upload", .uploadOffset: "0"] : [:]
                    let answer = try await stranger.request(method, place, body: body, headers: headers)
                    asked += 1
                    if !isName { #expect(answer.status == 404, "\(name): \(answer.status) \(answer.text)") }
                    #expect(!answer.text.contains("of A") && !answer.text.contains(origin.url("")), "\(name)")
                }
            }
            #expect(asked > 60)
            #expect(try await rows(of: 1, place.database) == before)
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }
}

extension HTTPField.Name {
    fileprivate static let uploadComplete = Self("Upload-Complete")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
