import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// Publishing, reading and cancelling messages.
struct QStashMessageRoutes: Sendable {
    static let maximumBody = QStashOrder.maximumBody
    static let maximumBatchBody = 10 << 20
    static let maximumBatch = 10_000
    /// How many jobs one statement stores, and one reads.
    private static let groupSize = 500
    /// How many are read before others have their turn.
    private static let turn = 20

    let jobs: any JobStore
    let keys: any KeyStore
    let sessions: KnownSessions
    let queues: QStashQueues
    let groups: any URLGroupStore
    let proxies: TrustedProxies
    let submitted: Counter

    var routes: [Route] {
        [
            Route(.post, "/v2/publish/{destination}", tenant: publish).taking(.jobs),
            Route(.post, "/v2/enqueue/{queue}/{destination}", tenant: enqueue).taking(.jobs),
            Route(.post, "/v2/batch", tenant: batch).taking(.jobs),
            Route(.get, "/v2/messages/{id}", tenant: get),
            Route(.delete, "/v2/messages/{id}", tenant: cancel),
            Route(.delete, "/v2/messages", tenant: cancelMany),
        ]
    }

    // MARK: Publishing

    private func publish(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await publish(call, to: call.parameter, queue: nil)
    }

    private func enqueue(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let queue = call.decodedParameter
        return try await publish(call, to: call.parameters.last ?? "", queue: queue)
    }

    private func publish(_ call: Call, to destination: String, queue: String?) async throws -> Response {
        let order = try await QStashOrder(call, to: destination, through: proxies)
        let key = try call.requireKey()
        let targets = try await groups.targets(of: QStashTarget.destination(order.destination), tenant: key.tenant)
        let messages = try targets.all.map {
            try QStashMessage(to: $0, order.fields, body: order.body, queue: queue, caller: order.caller)
        }
        let answers = try await store(messages, by: key).map { try $0.get() }
        let status: HTTPResponse.Status = answers.allSatisfy(\.isDuplicate) ? .accepted : .created
        guard !targets.isGroup else {
            var writer = JSONWriter()
            writer.array { writer in Self.write(answers, to: targets.all, &writer) }
            return .json(writer.bytes, status: status)
        }
        guard let answer = answers.first else { throw Problem(.internalError) }
        return .json(status: status) { answer.write(&$0) }
    }

    /// What came of a message to each URL of a group.
    private static func write(_ answers: [Answer], to targets: [QStashTarget], _ writer: inout JSONWriter) {
        for (answer, target) in zip(answers, targets) {
            writer.object { writer in
                answer.write(&writer)
                writer.member("url", target.url)
            }
        }
    }

    private struct Answer {
        let id: Job.ID
        let isDuplicate: Bool

        func write(_ writer: inout JSONWriter) {
            writer.member("messageId", id.description)
            if isDuplicate { writer.member("deduplicated", true) }
        }
    }

    /// Stores messages in their order.
    ///
    /// - Throws: When one of them may not be stored with the key; then none is.
    private func store(_ messages: [QStashMessage], by owner: APIKey) async throws -> [Result<Answer, Problem>] {
        var new: [NewJob] = []
        for message in messages {
            var spec = message.spec
            try owner.bind(&spec)
            new.append(try await sessions.job(spec, of: owner.tenant, idempotency: nil))
        }
        try await queues.settle(messages, by: owner)
        var answers: [Result<Answer, Problem>] = []
        for start in stride(from: 0, to: new.count, by: Self.groupSize) {
            let group = Array(new[start..<min(start + Self.groupSize, new.count)])
            let enqueued = try await keys.submitting(group, with: owner, jobs.enqueue)
            answers += enqueued.map(answer)
            answers += group.dropFirst(enqueued.count).map { _ in .failure(Problem.keyExhausted(owner)) }
        }
        return answers
    }

    private func answer(_ enqueued: Enqueued) -> Result<Answer, Problem> {
        switch enqueued {
        case .accepted(let id):
            submitted.add()
            return .success(Answer(id: id, isDuplicate: false))
        case .duplicate(let first), .replayed(let first): return .success(Answer(id: first, isDuplicate: true))
        case .queueFull(let quota): return .failure(Problem.queueFull(quota: quota))
        case .noRoom(let room): return .failure(Problem.noRoom(room))
        case .conflict, .sessionInvalidated, .sessionFull, .groupClosed: return .failure(Problem(.internalError))
        }
    }

    // MARK: Batches

    private func batch(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let body = try await call.body(upTo: Self.maximumBatchBody)
        guard case .array(let elements) = try JSONParser.parse(body.readableBytesView) else {
            throw Problem(.invalidParameter, "A batch is a list of messages.")
        }
        guard elements.count <= Self.maximumBatch else {
            throw Problem(.invalidParameter, "A batch may have \(Self.maximumBatch) messages.")
        }
        let caller = call.client(through: proxies)?.description
        let key = try call.requireKey()
        var (messages, parts) = ([QStashMessage](), [(targets: [QStashTarget], isGroup: Bool)]())
        var known: [String: [QStashTarget]] = [:]
        for (index, element) in elements.enumerated() {
            do {
                let (targets, isGroup, own) = try await self.messages(
                    element, of: tenant, from: caller, &known)
                guard messages.count + own.count <= Self.maximumBatch else {
                    throw Problem(.invalidParameter, "a batch goes to \(Self.maximumBatch) URLs at most")
                }
                messages += own
                parts.append((targets, isGroup))
            } catch {
                let problem = Problem(error)
                throw Problem(.invalidParameter, "Message \(index): \(problem.detail ?? problem.code.title)")
            }
            // Others have their turn in between.
            if index % Self.turn == Self.turn - 1 { await Task.yield() }
        }
        let answers = try await store(messages, by: key)
        // Nothing was stored: the client is told by the status, as for a single message.
        if let refusal = answers.first, case .failure(let problem) = refusal,
            !answers.contains(where: { if case .success = $0 { true } else { false } })
        {
            throw problem
        }
        var rest = answers[...]
        var writer = JSONWriter()
        writer.array { writer in
            for (targets, isGroup) in parts {
                let own = zip(rest.prefix(targets.count), targets)
                rest = rest.dropFirst(targets.count)
                func write(_ writer: inout JSONWriter) {
                    for (answer, target) in own {
                        writer.object { writer in
                            switch answer {
                            case .success(let answer): answer.write(&writer)
                            case .failure(let problem): writer.member("error", problem.detail ?? problem.code.title)
                            }
                            if isGroup { writer.member("url", target.url) }
                        }
                    }
                }
                if isGroup { writer.array(write) } else { write(&writer) }
            }
        }
        return .json(writer.bytes)
    }

    /// A message of a batch, for each URL that it goes to; members that are null are not there, as clients write them.
    ///
    /// - Parameter known: The groups that were looked up for messages before, so that each is once.
    private func messages(
        _ json: JSONValue, of tenant: Tenant.ID, from caller: String?, _ known: inout [String: [QStashTarget]]
    ) async throws -> (targets: [QStashTarget], isGroup: Bool, messages: [QStashMessage]) {
        guard case .object(let members) = json else {
            throw Problem(.invalidParameter, "A message of a batch is an object.")
        }
        let check = InputCheck()
        let given = JSONValue.object(members.filter { $0.value != .null })
        let object = JSONReader(given, check: check).object(of: ["destination", "headers", "body", "queue"])
        let destination = object?.required("destination")?.string(maximumLength: 16_384)
        let queue = object?["queue"]?.string(maximumLength: 128)
        let body = object?["body"]?.text(maximumLength: Self.maximumBody)
        let fields = (object?["headers"]?.dictionary() ?? []).flatMap { name, reader in
            // They are compared, as those of a request are.
            guard case .array(let values) = reader.value else { return reader.string().map { [(name, $0)] } ?? [] }
            let texts = values.filter { $0.text != nil }.map { JSONReader($0, pointer: reader.pointer, check: check) }
            return texts.compactMap { $0.string().map { (name, $0) } }
        }
        try check.finish()
        let place = try QStashTarget.destination(destination ?? "")
        let targets: (all: [QStashTarget], isGroup: Bool)
        if case .group(let name) = place, let all = known[name] {
            targets = (all, true)
        } else {
            targets = try await groups.targets(of: place, tenant: tenant)
            if case .group(let name) = place { known[name] = targets.all }
        }
        let messages = try targets.all.map {
            try QStashMessage(
                to: $0, QStashFields(fields), body: Array((body ?? "").utf8), queue: queue, caller: caller)
        }
        return (targets.all, targets.isGroup, messages)
    }

    // MARK: Reading and cancelling

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant),
            let json = QStashMessage.json(job)
        else { throw Self.notFound(call) }
        return .json(json)
    }

    private func cancel(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        guard let id = Job.ID(call.parameter), try await cancel([id], of: tenant) == 1 else {
            throw Self.notFound(call)
        }
        return .json(status: .accepted) { _ in }
    }

    private static func notFound(_ call: Call) -> Problem {
        Problem(.notFound, "There is no message with this id that could be cancelled or read.")
    }

    /// - Returns: How many of them could still be cancelled.
    private func cancel(_ ids: [Job.ID], of tenant: Tenant.ID) async throws -> Int {
        var count = 0
        for start in stride(from: 0, to: ids.count, by: Self.groupSize) {
            let asked = Set(ids[start..<min(start + Self.groupSize, ids.count)])
            let live = try await jobs.jobs([tenant: asked]).filter { job in
                !job.state.isFinal && !job.isCancelling && QStashMessage.json(job) != nil
            }
            guard !live.isEmpty else { continue }
            try await jobs.cancel(live.map(\.id), of: tenant, .plainly)
            count += live.count
        }
        return count
    }

    private func cancelMany(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let selection = try await QStashSelection(call, ids: "messageIds")
        let count =
            if let ids = selection.ids { try await cancel(ids, of: tenant) } else {
                try await cancel(selection.filter, upTo: selection.count ?? .max, of: tenant)
            }
        return .json { $0.member("cancelled", count) }
    }

    private func cancel(_ filter: JobFilter, upTo limit: Int, of tenant: Tenant.ID) async throws -> Int {
        var count = 0
        for state in JobState.allCases where !state.isFinal {
            var filter = filter
            filter.state = state
            var last: Job.ID?
            while count < limit {
                try Task.checkCancellation()
                let size = min(Self.groupSize, limit - count)
                let page = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: size, after: last))
                if !page.isEmpty { try await jobs.cancel(page.map(\.id), of: tenant, .plainly) }
                count += page.count
                last = page.rest
                if last == nil { break }
            }
        }
        return count
    }
}

/// What a request says that names its destination in the path: a message, or a schedule of them.
struct QStashOrder {
    static let maximumBody = 1 << 20

    /// As the client wrote it.
    let destination: String
    let fields: QStashFields
    let body: [UInt8]
    /// The address of the client.
    let caller: String?

    init(_ call: Call, to destination: String, through proxies: TrustedProxies) async throws {
        let query = RawQuery(call.request.uri.query)
        fields = QStashFields(call.headers.map { ($0.name.rawName, $0.value) }, query: query)
        // What is not for the service is the destination's.
        let rest = query.items.filter { !$0.name.hasPrefix("upstash-") && $0.name != "qstash_token" }.map(\.text)
        self.destination = rest.isEmpty ? destination : "\(destination)?\(rest.joined(separator: "&"))"
        body = Array(try await call.body(upTo: Self.maximumBody).readableBytesView)
        caller = call.client(through: proxies)?.description
    }
}
