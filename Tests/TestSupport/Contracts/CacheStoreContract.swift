import FetchEngine
package import FetchJobs

/// The contract of every form of ``CacheStore``.
package enum CacheStoreContract {
    private static let tenant = Tenant.ID(rawValue: 1)
    private static let other = Tenant.ID(rawValue: 2)

    private static func put(
        _ url: String, in store: any CacheStore, session: String = "default", body: String = "hello", tag: String = "t"
    ) async throws -> CachedAnswer? {
        let text = """
            {
                "session": "\(session)", "url": "\(url)", "status": 200, "body": {"text": "\(body)"},
                "headers": [
                    {"name": "Cache-Control", "value": "max-age=600"}, {"name": "Cache-Tag", "value": "\(tag)"}
                ]
            }
            """
        let submission = try CacheSubmission(json: JSONParser.parse(text.utf8))
        guard case .stored(let answer) = try await store.put(submission, of: tenant) else { return nil }
        return answer
    }

    private static func urls(
        _ store: any CacheStore, of tenant: Tenant.ID = tenant, after: CachePosition? = nil, limit: Int = 9,
        _ change: (inout CacheFilter) -> Void = { _ in }
    ) async throws -> [String] {
        var filter = CacheFilter()
        change(&filter)
        return try await store.answers(filter, of: tenant, after: after, limit: limit).map(\.entry.key.url)
    }

    package static let clauses: [Clause<any CacheStore>] = [
        Clause("what is put there is there with its body, for its tenant alone") { store in
            guard let answer = try await put("http://a.example/x", in: store) else { return ["not stored"] }
            guard case .inline(let bytes) = try await store.body(of: answer, tenant: tenant) else { return ["no body"] }
            return compare("body", bytes, Array("hello".utf8))
                + compare("own", try await urls(store), ["http://a.example/x"])
                + compare("another's", try await urls(store, of: other), [])
                + compare("another's body", try await store.body(of: answer, tenant: other) == nil, true)
        },
        Clause("an answer takes the place of that which the same requests select") { store in
            _ = try await put("http://a.example/", in: store)
            guard let second = try await put("http://a.example/", in: store, body: "other") else {
                return ["not stored"]
            }
            guard case .inline(let bytes) = try await store.body(of: second, tenant: tenant) else { return ["no body"] }
            return compare("body", bytes, Array("other".utf8)) + compare("count", try await urls(store).count, 1)
        },
        Clause("answers are listed the latest first, and pages meet") { store in
            var expected: [String] = []
            for number in 0..<3 {
                expected.insert("http://a.example/\(number)", at: 0)
                _ = try await put(expected[0], in: store)
            }
            let first = try await store.answers(CacheFilter(), of: tenant, after: nil, limit: 2)
            let rest = try await urls(store, after: first.last.map(CachePosition.init))
            return compare("order", first.map(\.entry.key.url) + rest, expected)
        },
        Clause("a list can be of a session, a URL, its beginning, a host, a tag or one answer") { store in
            let session = TenantSession.ID()
            let answer = try await put("http://a.example/x", in: store, tag: "one")
            _ = try await put("http://a.example/y", in: store, session: "\(session)")
            _ = try await put("http://b.example/x", in: store)
            return compare("session", try await urls(store) { $0.session = session }, ["http://a.example/y"])
                + compare("URL", try await urls(store) { $0.url = "http://b.example/x" }, ["http://b.example/x"])
                + compare("beginning", try await urls(store) { $0.prefix = "http://a.example/" }.count, 2)
                + compare("host", try await urls(store) { $0.host = "b.example" }, ["http://b.example/x"])
                + compare("tag", try await urls(store) { $0.tag = "one" }, ["http://a.example/x"])
                + compare("answer", try await urls(store) { $0.answer = answer?.id }, ["http://a.example/x"])
        },
        Clause("what is purged is gone, of its tenant alone, and is counted") { store in
            _ = try await put("http://a.example/x", in: store)
            _ = try await put("http://a.example/y", in: store)
            _ = try await put("http://b.example/x", in: store)
            var filter = CacheFilter()
            filter.host = "a.example"
            return compare("another's", try await store.purge(filter, of: other), 0)
                + compare("purged", try await store.purge(filter, of: tenant), 2)
                + compare("again", try await store.purge(filter, of: tenant), 0)
                + compare("left", try await urls(store), ["http://b.example/x"])
        },
    ]
}
