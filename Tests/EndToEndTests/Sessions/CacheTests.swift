import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// The response cache of jobs, through running services.
@Suite struct CacheTests {
    /// An origin that counts its requests.
    private final class CountingOrigin: Sendable {
        private let counter: Counter
        private let origin: WireOrigin

        private final class Counter: Sendable {
            let heads = Mutex<[String]>([])
        }

        /// - Parameters:
        ///   - fields: The fields of each response; a request with a condition gets 304 when there is an entity tag.
        ///   - gate: The gate that responses wait for.
        init(_ fields: String = "Cache-Control: max-age=1000\r\nCache-Tag: red", after gate: Gate? = nil) throws {
            let counter = Counter()
            self.counter = counter
            origin = try WireOrigin { connection in
                while let head = try connection.receiveHead() {
                    let count = counter.heads.withLock { heads in
                        heads.append(head)
                        return heads.count
                    }
                    try gate?.wait()
                    let isSame = head.contains("If-None-Match") && fields.contains("ETag")
                    let body = head.hasPrefix("GET") ? "body \(count)" : ""
                    try connection.send(
                        isSame
                            ? "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n\r\n"
                            : "HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                }
            }
        }

        var count: Int { counter.heads.withLock { $0.count } }
        var rule: String { "127.0.0.1:\(origin.port)" }
        func url(_ path: String = "/a") -> String { origin.url(path) }
    }

    private func status(_ job: [String: Any]) -> String? { member(job, "response", "cacheStatus") }

    private func isHit(_ job: [String: Any]) -> Bool? { member(job, "response", "fromCache") }

    private func text(_ job: [String: Any], _ service: ServiceProcess) async throws -> String {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self))).text
    }

    // Proves: CCH-1, CCH-7, CCH-18, CCH-20, URL-4, CON-5.
    @Test func `an answer is used again on any node until it is purged`() async throws {
        let origin = try CountingOrigin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            let first = try await nodes[0].fetch(origin.url())
            #expect(isHit(first) == false)
            #expect(status(first) == "FetchEngine;fwd=uri-miss;ttl=1000;stored")
            for node in nodes + nodes {
                let again = try await node.fetch(origin.url())
                #expect(isHit(again) == true)
                #expect(try await text(again, node) == "body 1")
            }
            let explained = try await nodes[1].request(.get, "/v1/cache/explain?url=\(origin.url())").json
            #expect(member(explained, "answers", "0", "verdict") == "hit")
            let list = try await nodes[0].request(.get, "/v1/cache?tag=red").json
            #expect(member(list, "data", "0", "url") == origin.url())
            #expect(member(try await nodes[0].request(.delete, "/v1/cache?tag=red").json, "removed") == 1)
            for node in [nodes[1], nodes[0]] { #expect(try await text(node.fetch(origin.url()), node) == "body 2") }
            #expect(origin.count == 2)
            for node in nodes { #expect(try await node.stop() == 0) }
        }
    }

    // Proves: RSP-9, CCH-18.
    @Test func `what was being fetched during a purge is not given to later jobs`() async throws {
        let gate = Gate()
        let origin = try CountingOrigin(after: gate)
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            async let first = service.fetch(origin.url())
            try await until { origin.count == 1 }
            #expect(member(try await service.request(.delete, "/v1/cache?all=true").json, "removed") == 0)
            gate.open()
            #expect(isHit(try await first) == false)
            #expect(isHit(try await service.fetch(origin.url())) == false)
            #expect(isHit(try await service.fetch(origin.url())) == true)
            let list = try await service.request(.get, "/v1/cache").json
            let path = "/v1/cache/entries/\(try #require(member(list, "data", "0", "id", as: String.self)))"
            let entry = try await service.request(.get, path).json
            #expect(member(entry, "verdict") == "hit" && member(entry, "url") == origin.url())
            let href = try #require(member(entry, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "body 2")
            #expect(try await service.request(.delete, path).status == 204)
            #expect(isHit(try await service.fetch(origin.url())) == false)
        }
    }

    // Proves: BEY-5, CCH-2, CCH-3, CCH-4, CCH-5, URL-4.
    @Test func `each request's policy decides`() async throws {
        let origin = try CountingOrigin("Cache-Control: max-age=1000\r\nETag: \"a\"")
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            func fetch(_ policy: String, _ path: String = "/a") async throws -> [String: Any] {
                try await service.fetch(origin.url(path), request: #", "cachePolicy": "\#(policy)""#)
            }
            let miss = try await fetch("returnCacheDataDontLoad")
            #expect(member(miss, "error", "name") == "resourceUnavailable" && origin.count == 0)
            for (policy, count) in [
                ("useProtocolCachePolicy", 1), ("returnCacheDataDontLoad", 1), ("reloadIgnoringLocalCacheData", 2),
                ("reloadIgnoringLocalAndRemoteCacheData", 3), ("reloadRevalidatingCacheData", 4),
                ("returnCacheDataElseLoad", 4),
            ] {
                let job = try await fetch(policy)
                #expect(member(job, "response", "status") == 200 && origin.count == count, "\(policy)")
            }
        }
    }

    // Proves: CCH-7, CCH-13, CCH-17, CCH-20, CCH-12, CCH-1.
    @Test func `a stale answer is confirmed, and what a job attaches is stored with it`() async throws {
        let origin = try CountingOrigin("Cache-Control: max-age=0\r\nETag: \"a\"")
        let more = #", "configuration": {"cache": {"userInfo": {"a": "b"}}}"#
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            _ = try await service.fetch(origin.url(), more: more)
            let again = try await service.fetch(origin.url())
            #expect(isHit(again) == false && status(again)?.contains("fwd=stale;fwd-status=304") == true)
            #expect(try await text(again, service) == "body 1")
            let list = try await service.request(.get, "/v1/cache").json
            #expect(member(list, "data", "0", "userInfo", "a") == "b")
        }
    }

    // Proves: CCH-10, CCH-17, LIF-11, CCH-12.
    @Test func `what is not to be stored is not, and what is for memory alone leaves no row`() async throws {
        let origin = try CountingOrigin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            func fetch(_ cache: String, _ path: String) async throws -> [String: Any] {
                try await service.fetch(origin.url(path), more: #", "configuration": {"cache": {\#(cache)}}"#)
            }
            for cache in [#""storagePolicy": "notAllowed""#, #""maximumEntryBytes": 5"#] {
                for _ in 0..<2 { #expect(isHit(try await fetch(cache, "/n")) == false) }
            }
            let memory = #""storagePolicy": "allowedInMemoryOnly""#
            #expect(isHit(try await fetch(memory, "/m")) == false)
            #expect(isHit(try await fetch(memory, "/m")) == true)
            let list = try await service.request(.get, "/v1/cache").json
            #expect(member(list, "data", as: [Any].self)?.isEmpty == true)
        }
    }

    // Proves: CCH-8, CCH-19, SES-6.
    @Test func `sessions share nothing, and a change at the origin ends what is stored`() async throws {
        let origin = try CountingOrigin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            for kind in ["default", "ephemeral"] {
                let made = try await service.request(.post, "/v1/sessions", body: #"{"kind": "\#(kind)"}"#).json
                let session = #", "session": "\#(try #require(member(made, "id", as: String.self)))""#
                let before = origin.count
                for hit in [false, true] {
                    #expect(isHit(try await service.fetch(origin.url(), more: session)) == hit)
                }
                _ = try await service.fetch(origin.url(), request: #", "method": "PUT""#, more: session)
                #expect(isHit(try await service.fetch(origin.url(), more: session)) == false)
                #expect(origin.count == before + 3)
            }
        }
    }

    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(2)))
    func `a thousand jobs at once on two nodes for one URL make one request`() async throws {
        let gate = Gate()
        let origin = try CountingOrigin(after: gate)
        let settings = ["WORKER_LEASE_SECONDS": "5"]
        try await ServiceProcess.Place.with(allowing: [origin.rule], settings: settings) { place async throws in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            try await place.untilNodesKnowOfEachOther()
            let line = #"{"request": {"url": "\#(origin.url())"}}"#
            let lines = Array(repeating: line, count: 500).joined(separator: "\n")
            var jobs: [(ServiceProcess, String)] = []
            for node in nodes {
                let answer = try await node.request(
                    .post, "/v1/jobs/batch", body: lines, headers: [.contentType: "application/x-ndjson"])
                jobs += answer.text.matches(of: /"(job_\w+)"/).map { (node, String($0.output.1)) }
            }
            #expect(jobs.count == 1000)
            try await until { origin.count > 0 }
            gate.open()
            for (node, id) in jobs {
                let job = try await node.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
                #expect(member(job, "response", "status") == 200)
            }
            #expect(origin.count == 1)
            for node in nodes { #expect(try await node.stop() == 0) }
        }
    }
}
