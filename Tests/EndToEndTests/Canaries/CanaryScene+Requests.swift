import Foundation
import HTTPTypes
import TestSupport
import Testing

extension CanaryScene {
    /// The fields whose values are secrets without a mark, as openapi.yaml lists them.
    static let fields = [
        "Authorization", "Cookie", "X-Authorization", "X-API-Key", "X-Apikey", "API-Key", "Apikey", "X-Auth-Token",
        "X-Auth-Key", "X-Access-Token", "X-Session-Token", "X-CSRF-Token", "X-Csrftoken", "X-XSRF-Token",
        "X-Amz-Security-Token", "X-Goog-API-Key", "X-Goog-Iam-Authorization-Token", "X-Functions-Key",
        "Ocp-Apim-Subscription-Key", "X-Rapidapi-Key", "Private-Token", "Job-Token", "X-Gitlab-Token", "X-Vault-Token",
        "X-Consul-Token", "X-Shopify-Access-Token", "X-Subject-Token",
    ]

    /// Secret header fields, with `own` ones among them.
    private func headers(of input: String, isSent: Bool) -> String {
        func secret(_ name: String) -> String { canaries("\(name) of \(input)", isSent: isSent) }
        let known = Self.fields.map { #"{"name": "\#($0)", "value": "\#(secret($0))"}"# }
        let marked = #"{"name": "X-Own", "value": "\#(secret("marked field"))", "sensitive": true}"#
        let plain = #"{"name": "X-Plain", "value": "\#(own("plain field of \(input)"))"}"#
        return "[\((known + [marked, plain]).joined(separator: ", "))]"
    }

    /// A request with a secret in every place of one; `path` is where it leads.
    func request(_ path: String, of input: String, isSent: Bool = true) -> String {
        let document = origin.url("/document?q=\(canaries("query of the document of \(input)", isSent: false))")
        return #"""
            {"url": "\#(origin.url(path))?q=\#(canaries("query of \(input)", isSent: isSent))", "method": "PUT",
             "headers": \#(headers(of: input, isSent: isSent)), "sensitive": ["query", "body"],
             "mainDocumentURL": "\#(document)",
             "body": {"json": {"pin": "\#(canaries("body of \(input)", isSent: isSent))"}}}
            """#
    }

    /// Jobs whose requests have secrets, and what may become of such jobs; returns their ids.
    func plantRequests(endpoint: String) async throws -> [String] {
        let events = #"["job.started", "job.redirected", "job.response", "job.finished"]"#
        let announced = #", "webhook": {"endpoint": "\#(endpoint)", "events": \#(events)}"#
        let again = #""retry": {"maximumAttempts": 2, "statuses": [503], "backoff": {"initial": 0.1}}"#
        var jobs: [String] = []
        for (path, input) in [("/ok", "a job"), ("/redirect", "a redirected job"), ("/cut", "a broken job")] {
            jobs.append(try await submit(request(path, of: input), more: announced))
        }
        jobs.append(try await submit(request("/fails", of: "a job tried again"), again, more: announced))
        let held = try await submit(request("/ok", of: "a suspended job"), more: #", "suspended": true"#)
        try await ask(.post, "/v1/jobs/\(held)/resume")
        let named = HTTPField.Name.idempotencyKey
        jobs.append(try await submit(request("/ok", of: "a named job"), headers: [named: own("idempotency key")]))
        let forgotten = try await submit(
            request("/ok", of: "a deleted job", isSent: false), more: #", "suspended": true"#)
        try await ask(.post, "/v1/jobs/\(forgotten)/cancel")
        _ = try await service.end(of: forgotten)
        try await ask(.delete, "/v1/jobs/\(forgotten)")
        // The same with what a cache keeps: it does not store answers to secret queries.
        let cacheable =
            #"{"url": "\#(origin.url("/cached"))", "headers": \#(headers(of: "a cached job", isSent: true))}"#
        for _ in 0..<2 { jobs.append(try await submit(cacheable)) }
        jobs.append(try await submit(#""\#(origin.url("/location"))""#))
        jobs.append(try await submit(#""\#(origin.url("/ok"))""#, more: announcedByURL))
        return jobs + [held] + (try await plantDownload()) + (try await plantBodies()) + (try await plantBatch())
    }

    private var announcedByURL: String {
        #", "webhook": {"url": "\#(other.url("/hook"))?token=\#(own("query of a job's endpoint"))"}"#
    }

    /// A download that breaks off, and another one that continues it.
    private func plantDownload() async throws -> [String] {
        let fields = headers(of: "a download", isSent: true)
        let request = #"{"url": "\#(origin.url("/download"))", "headers": \#(fields)}"#
        let broken = try await submit(request, more: #", "kind": "download""#)
        let job = try await service.end(of: broken)
        let data = try #require(member(job, "error", "resumeData", as: String.self), "\(job)")
        let further =
            #"{"url": "\#(origin.url("/download"))", "headers": \#(headers(of: "a resumed one", isSent: true))}"#
        return [broken, try await submit(further, more: #", "kind": "download", "resumeFrom": "\#(data)""#)]
    }

    /// Jobs of an ephemeral session.
    func plantEphemeral() async throws -> [String] {
        let session = try await make("/v1/sessions", #"{"kind": "ephemeral"}"#)
        let credential = canaries("password for an ephemeral session")
        let more = #", "session": "\#(session)""#
        return [
            try await submit(request("/ok", of: "a job of an ephemeral session"), more: more),
            try await submit(
                #""\#(origin.url("/basic"))""#,
                #""authentication": {"credential": {"user": "e", "password": "\#(credential)", "#
                    + #""persistence": "forSession"}}"#, more: more),
        ]
    }

    /// Jobs with secret bodies of every form, and with a template.
    private func plantBodies() async throws -> [String] {
        let base64 = Data(canaries("base64 body").utf8).base64EncodedString()
        let bodies = [
            #"{"text": "\#(canaries("text body"))"}"#, #"{"form": {"pin": "\#(canaries("form field"))"}}"#,
            #"{"base64": "\#(base64)"}"#,
            #"{"multipart": [{"name": "pin", "text": "\#(canaries("part of a body"))"}]}"#,
        ]
        var jobs: [String] = []
        for body in bodies {
            jobs.append(
                try await submit(
                    #"{"url": "\#(origin.url("/ok"))", "method": "POST", "body": \#(body), "sensitive": ["body"]}"#))
        }
        let variable = #""variables": {"q": "\#(canaries("variable of a template"))"}, "sensitive": ["query"]"#
        jobs.append(try await submit(#"{"urlTemplate": "\#(origin.url("/ok"))?q={q}", \#(variable)}"#))
        let plain = #""method": "POST", "body": {"text": "\#(own("plain body"))"}"#
        jobs.append(try await submit(#"{"url": "\#(origin.url("/ok"))?q=\#(own("plain query"))", \#(plain)}"#))
        return jobs
    }

    /// Jobs of a batch, a schedule and an explanation.
    private func plantBatch() async throws -> [String] {
        let line = #"{"request": \#(request("/ok", of: "a batch"))}"#.replacing("\n", with: "")
        let broken =
            #"{"request": {"url": "\#(origin.url("/ok"))", "headers": "\#(canaries("broken line", isSent: false))""#
        let answer = try await ask(
            .post, "/v1/jobs/batch", "\(line)\n\(broken)\n", headers: [.contentType: "application/x-ndjson"])
        let job = try #require(answer.text.firstMatch(of: /job_[0-9a-z]+/)).output
        let schedule = try await make(
            "/v1/schedules", #"{"interval": 3600, "job": {"request": \#(request("/ok", of: "a schedule"))}}"#)
        let made = try #require(
            member(try await ask(.post, "/v1/schedules/\(schedule)/run").json, "id", as: String.self))
        try await ask(
            .patch, "/v1/schedules/\(schedule)", #"{"labels": {"a": "b"}}"#,
            headers: [.contentType: "application/merge-patch+json"])
        let explained = request("/ok", of: "an explanation", isSent: false)
        let event = #"{"on": "willPerformHTTPRedirection", "to": "\#(origin.url("/landed"))"}"#
        try await ask(.post, "/v1/explain", #"{"request": \#(explained), "whatIf": [\#(event)]}"#)
        return [String(job), made]
    }
}
