import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The question about the standard form of a URL, before its first byte is sent.
@Suite(.timeLimit(.minutes(2))) struct CanonicalURLTests {
    private func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
    }

    // Proves: RED-7, DLG-1.
    @Test func `a URL that is not written in its standard form is asked about before the first byte`() async throws {
        let origin = try origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let written = "HTTP://127.0.0.1:\(origin.port)"
            let id = try await service.submit(written, asking: #"["didCanonicalize"]"#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "original") == written, "\(question)")
            #expect(member(question, "facts", "canonical") == "http://127.0.0.1:\(origin.port)/")
            #expect(member(question, "facts", "reason") == "canonical")
            #expect(origin.count(of: "GET ") == 0)
            #expect(try await service.answer(question, #""follow""#).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "state") == "succeeded" && origin.count(of: "GET / ") == 1, "\(job)")
            #expect(member(job, "request", "writtenURL") == written)
            #expect(member(job, "request", "url") == "http://127.0.0.1:\(origin.port)/")
        }
    }

    // Proves: RED-7.
    @Test func `another request takes its place, or none, and a URL in standard form is not asked about`() async throws
    {
        let origin = try origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let base = "http://127.0.0.1:\(origin.port)"
            let other = try await service.submit("\(base)/a/../b", asking: #"["didCanonicalize"]"#)
            _ = try await service.answer(
                try await service.question(of: other),
                #"{"answer": "follow", "request": {"url": "\#(base)/c"}}"#)
            #expect(member(try await service.end(of: other), "state") == "succeeded")
            #expect(origin.count(of: "GET /c ") == 1)
            let rule =
                #"}, "rules": [{"on": "didCanonicalize", "answer": "cancel"}], "connections": {"maximumPerHost": 6"#
            let none = try await service.submit("\(base)/a/./", asking: "[]", rule)
            #expect(member(try await service.end(of: none), "state") == "cancelled")
            let plain = try await service.submit("\(base)/d", asking: #"["didCanonicalize"]"#)
            #expect(member(try await service.end(of: plain), "state") == "succeeded")
            let explained = try await service.request(.get, "/v1/jobs/\(plain)/explain")
            #expect(explained.text.contains(#""decisions":[]"#), "\(explained.text)")
            #expect(origin.count(of: "GET ") == 2)
        }
    }

    // It is asked once, whichever node goes on.
    // Proves: RED-7, DLG-6.
    @Test func `a job is parked at the question, and goes on at another node`() async throws {
        let origin = try origin()
        let settings = ["WORKER_HOLD_SECONDS": "0"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit("http://127.0.0.1:\(origin.port)", asking: #"["didCanonicalize"]"#)
            let question = try await first.question(of: id)
            try await until {
                try await first.request(.get, "/metrics").text.contains("fetchd_loads_parked_total 1")
            }
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let second = try await ServiceProcess.start(place, key: key)
            #expect(try await second.answer(question, #""follow""#).status == 200)
            #expect(member(try await second.end(of: id), "state") == "succeeded")
            #expect(origin.count(of: "GET / ") == 1)
            let asked = try await second.request(.get, "/v1/jobs/\(id)/questions").json
            #expect(member(asked, "data", as: [Any].self)?.count == 1)
            try await second.stop()
        }
    }

    @Test func `what is secret of a URL, or misleads, is not told, and is not asked about`() async throws {
        let origin = try origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let user = try await service.submit(
                "http://me:hush@127.0.0.1:\(origin.port)", asking: #"["didCanonicalize"]"#)
            #expect(member(try await service.end(of: user), "state") == "succeeded")
            let bidirectional = try await service.submit(
                "http://127.0.0.1:\(origin.port)/\u{202E}", asking: #"["didCanonicalize"]"#)
            let shown = try await service.end(of: bidirectional)
            #expect(member(shown, "request", "url") == "http://127.0.0.1:\(origin.port)/%E2%80%AE", "\(shown)")
            #expect(member(shown, "request", "writtenURL", as: String.self) == nil)
            let query = try await service.submit(
                "http://127.0.0.1:\(origin.port)?hush", asking: #"["didCanonicalize"]"#,
                request: #", "sensitive": ["query"]"#)
            #expect(member(try await service.end(of: query), "state") == "succeeded")
            for id in [user, query] {
                #expect(try await !service.request(.get, "/v1/jobs/\(id)").text.contains("hush"))
            }
        }
    }
}
