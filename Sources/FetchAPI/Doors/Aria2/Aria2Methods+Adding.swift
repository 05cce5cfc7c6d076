import FetchJobs
import FetchRuntime

extension Aria2Methods {
    /// What is loaded; others are named so that a client knows why not.
    private static let schemes: Set = ["http", "https", "ftp", "ftps"]
    private static let otherSchemes: Set = ["magnet", "sftp"]

    func add(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> String {
        let uris = try arguments.list(0).compactMap(\.text)
        let options = try arguments.optionalOptions(1) ?? Aria2Options()
        let position = try arguments.optionalPosition(2)
        guard !uris.isEmpty else { throw Aria2Failure.noURI }
        let loaded = try Self.loaded(uris)
        guard let url = loaded.first else {
            let other = uris.map(Self.scheme).first(where: Self.otherSchemes.contains)
            throw other.map { Aria2Failure.notSupported($0) } ?? .nothingToDownload
        }
        let own = try options["gid"].map { text throws(Aria2Failure) in
            guard let gid = Aria2GID(whole: text) else { throw Aria2Failure.option("gid") }
            return gid
        }
        let gid = own ?? Aria2GID()
        var job = try options.job(loading: url, mirrors: Array(loaded.dropFirst()))
        job.append(JSONMember("labels", .object(try Self.labels(gid, options.place.directory))))
        if let own {
            guard try await named(own, caller).isEmpty else { throw Self.taken(own) }
            // Two that come at the same time find nothing, and only one of them is stored.
            job.append(
                JSONMember("unique", .object([JSONMember("key", .string("\(Aria2Download.labelOfGID) \(own.text)"))])))
        }
        var spec = try JobSpec(json: .object(job))
        try caller.key.bind(&spec)
        let new = try await sessions.job(spec, of: caller.tenant, idempotency: nil, in: caller.call.trace)
        guard let enqueued = try await keys.submitting([new], with: caller.key, jobs.enqueue).first else {
            throw Problem.keyExhausted(caller.key)
        }
        switch enqueued {
        case .accepted(let id):
            submitted.add()
            // One that has begun has no place any more.
            if let position { try await move(id, caller) { _, _ in Int(clamping: position) } }
            return gid.text
        case .duplicate: throw Self.taken(gid)
        case .queueFull(let quota): throw Problem.queueFull(quota: quota)
        case .noRoom(let room): throw Problem.noRoom(room)
        case .replayed, .conflict, .sessionInvalidated, .sessionFull, .groupClosed: throw Problem(.internalError)
        }
    }

    private static func taken(_ gid: Aria2GID) -> Aria2Failure { Aria2Failure("GID#\(gid.text) is already used") }

    /// Those of some URIs that can be loaded.
    static func loaded(_ uris: [String]) throws(Aria2Failure) -> [String] {
        let loaded = uris.filter { schemes.contains(scheme(of: $0)) }
        guard loaded.count <= maximumURIs else { throw .notSupported("A download with more than \(maximumURIs) URIs") }
        return loaded
    }

    private static func scheme(of uri: String) -> String {
        // None that is looked for is longer, and the rest of a text may be anything.
        let start = uri.utf8.prefix(8)
        return start.firstIndex(of: UInt8(ascii: ":")).map { uri[..<$0].lowercased() } ?? ""
    }

    private static func labels(_ gid: Aria2GID, _ directory: String?) throws(Aria2Failure) -> [JSONMember] {
        var labels = [
            JSONMember(Aria2Download.label.name, .string(Aria2Download.label.value)),
            JSONMember(Aria2Download.labelOfGID, .string(gid.text)),
            JSONMember(Aria2Download.labelOfBeginning, .string(gid.beginning)),
        ]
        if let directory {
            labels.append(
                JSONMember(Aria2Download.labelOfDirectory, .string(try Aria2Download.directory(directory))))
        }
        return labels
    }
}
