package import FetchJobs

/// The contract of every form of ``URLGroupStore``.
package enum URLGroupStoreContract {
    package struct Subject: Sendable {
        let store: any URLGroupStore

        package init(store: any URLGroupStore) { self.store = store }

        fileprivate func add(_ name: String, _ endpoints: (url: String, name: String?)...) async throws -> Bool {
            try await store.add(
                endpoints.map { URLGroup.Endpoint(url: $0.url, name: $0.name) }, toURLGroup: name, of: .first)
        }

        fileprivate func endpoints(_ name: String) async throws -> [String] {
            try await store.urlGroup(name, of: .first)?.endpoints.map { "\($0.url) \($0.name ?? "-")" }.sorted() ?? []
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("an endpoint takes the place of that with its URL, and of that with its name") { subject in
            let added = try await [
                subject.add("g", ("a", "one"), ("b", nil)), subject.add("g", ("b", "two"), ("a", nil)),
            ]
            let first = try await subject.endpoints("g")
            let moved = try await subject.add("g", ("c", "one"))
            return compare("added", added + [moved], [true, true, true]) + compare("first", first, ["a one", "b two"])
                + compare("moved", try await subject.endpoints("g"), ["b two", "c one"])
        },
        Clause("a group is gone with its last endpoint, and is its tenant's alone") { subject in
            _ = try await subject.add("b", ("x", "one"), ("y", nil))
            _ = try await subject.add("a", ("x", nil))
            let names = try await subject.store.urlGroups(of: .first).map(\.name)
            let other = try await subject.store.urlGroup("b", of: .second) == nil
            let others = try await subject.store.urlGroups(of: .second).count
            let theirs = try await subject.store.remove(urls: ["x"], names: ["one"], fromURLGroup: "b", of: .second)
            try await subject.store.removeURLGroup("a", of: .second)
            let removed = try await subject.store.remove(urls: ["y"], names: ["one"], fromURLGroup: "b", of: .first)
            let left = try await subject.store.urlGroups(of: .first).map(\.name)
            try await subject.store.removeURLGroup("a", of: .first)
            return compare("names", names, ["a", "b"]) + compare("other", other, true)
                + compare("others", others, 0) + compare("theirs", theirs, 0) + compare("removed", removed, 2)
                + compare("left", left, ["a"])
                + compare("at last", try await subject.store.urlGroups(of: .first).count, 0)
        },
        Clause("a group has room for so many, and one without room stays as it was") { subject in
            let many = (1...URLGroup.maximumEndpoints).map { URLGroup.Endpoint(url: "\($0)", name: "\($0)") }
            let full = try await subject.store.add(many, toURLGroup: "g", of: .first)
            let again = try await subject.store.add(many, toURLGroup: "g", of: .first)
            let more = try await subject.add("g", ("one more", nil))
            let count = try await subject.endpoints("g").count
            return compare("full", [full, again, more], [true, true, false])
                + compare("count", count, URLGroup.maximumEndpoints)
        },
    ]
}
