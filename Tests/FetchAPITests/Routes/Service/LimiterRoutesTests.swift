import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct LimiterRoutesTests {
    @Test func `a host has the limits that are set, until they are removed`() async throws {
        try await TestServer().test { call in
            #expect(try await call(.get, "/v1/hosts/api.example").problem == .notFound)
            let limits = #"{"parallelism": 4, "rate": {"jobs": 10, "period": 1.5}, "maximumBytesPerSecond": 4096}"#
            #expect(try await call(.put, "/v1/hosts/API.example", body: limits).status == .created)
            #expect(try await call(.put, "/v1/hosts/api.example", body: limits).status == .ok)
            let limiter = try await call(.get, "/v1/hosts/api.example")
            #expect(
                limiter.text == """
                    {"host":"api.example","parallelism":4,"rate":{"jobs":10,"period":1.5},\
                    "maximumBytesPerSecond":4096,"paused":false,"waiting":0,"running":0,"circuit":"closed"}
                    """)
            #expect(try await call(.get, "/v1/hosts").json?["data"]?.count == 1)
            #expect(try await call(.delete, "/v1/hosts/api.example").status == .noContent)
            #expect(try await call(.delete, "/v1/hosts/api.example").problem == .notFound)
        }
    }

    // R37
    @Test func `a flow has an order, and says what a failure does to it`() async throws {
        try await TestServer().test { call in
            let limits = #"{"order": "fifo", "onFailure": "block"}"#
            let limiter = try await call(.put, "/v1/flows/a%2Fb", body: limits)
            #expect(limiter.json?["key"]?.string == "a/b" && limiter.json?["order"]?.string == "fifo")
            #expect(try await call(.post, "/v1/flows/a%2Fb/skip").status == .ok)
            #expect(try await call(.post, "/v1/flows/other/skip").problem == .notFound)
        }
    }

    @Test(arguments: [
        ("/v1/hosts/a", #"{"parallelism": 0}"#, "/parallelism"), ("/v1/hosts/a", #"{"order": "fifo"}"#, "/order"),
        ("/v1/hosts/a", #"{"rate": {"jobs": 1}}"#, "/rate/period"),
        ("/v1/hosts/a", #"{"maximumBytesPerSecond": 1023}"#, "/maximumBytesPerSecond"),
        ("/v1/flows/a", #"{"order": "fifo", "parallelism": 2}"#, "/parallelism"),
        ("/v1/flows/a", #"{"onFailure": "block"}"#, "/onFailure"),
    ])
    func `what goes against a rule is refused by its name`(_ path: String, _ body: String, _ pointer: String)
        async throws
    {
        try await TestServer().test { call in
            let answer = try await call(.put, path, body: body)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, path).problem == .notFound)
        }
    }

    @Test(arguments: ["/v1/hosts/a%2Fb", "/v1/hosts/a:99999", "/v1/hosts/u@h", "/v1/hosts/%20", "/v1/flows/%00"])
    func `what is no name has no limiter`(_ path: String) async throws {
        try await TestServer().test { call in
            let answer = try await call(.put, path, body: "{}")
            #expect(answer.problem == .notFound)
        }
    }

    @Test(arguments: ["/v1/hosts/a.example", "/v1/flows/k"])
    func `pausing and resuming a limiter is shown`(_ path: String) async throws {
        try await TestServer().test { call in
            #expect(try await call(.post, "\(path)/pause").json?["paused"]?.bool == true)
            #expect(try await call(.get, path).json?["paused"]?.bool == true)
            #expect(try await call(.put, path, body: "{}").json?["paused"]?.bool == true)
            #expect(try await call(.post, "\(path)/resume").json?["paused"]?.bool == false)
            let drained = try await call(.post, "\(path)/drain")
            #expect(drained.status == .ok && drained.json?["paused"]?.bool == true)
        }
    }

    // R17
    @Test func `all jobs of a tenant can be paused`() async throws {
        try await TestServer().test { call in
            let paused = try await call(.post, "/v1/queue/pause")
            #expect(paused.json?["paused"]?.bool == true)
            #expect(try await call(.get, "/v1/queue").json?["paused"]?.bool == true)
            #expect(try await call(.post, "/v1/queue/resume").json?["paused"]?.bool == false)
            #expect(try await call(.post, "/v1/queue/drain").status == .ok)
        }
    }
}
