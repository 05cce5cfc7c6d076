import EventLoop
import HTTPTypes
import Synchronization

/// How one load goes, from its request to its last byte.
///
/// Runs on the loop; the steps are in order of time. Each `await` may cost a turn of the loop, so a step awaits only
/// when it has something to wait for.
extension TransferLoop {
    /// Takes the hops to the final response.
    func response(of task: DataTask, bufferingUpTo limit: Int) async throws(LoadError) -> Response {
        do throws(LoadError) {
            try begin(task)
            var request = firstRequest(of: task)
            var redirects = RedirectMachine(configuration: task.configuration.redirects)
            while true {
                let partition = try admit(request, of: task)
                let source =
                    if case .stream(let length, let provider) = request.body {
                        try await stream(from: provider, length: length)
                    } else {
                        try source(for: request)
                    }
                if isHeld(task.load) { await released(task.load) }
                let transfer = try start(request, with: source, in: partition, of: task)
                let wish = Transfer.Wish.head(bufferingUpTo: limit)
                if !transfer.isMet(wish) { await transfer.arrival(wish, isolation: self) }
                let response = try head(of: transfer, limit: limit)
                if RedirectMachine.isRedirect(response.status.code),
                    let next = try await hop(after: response, to: request, of: task, &redirects)
                {
                    transfer.abort(LoadError(.cancelled, "The redirect was followed."))
                    request = next
                    continue
                }
                if let teller = task.teller { try await offer(response, of: task, to: teller) }
                let isComplete = try deliver(response, of: transfer, limit: limit, to: task)
                if isComplete, let teller = complete(task) { await tell(teller, of: task, nil) }
                return response
            }
        } catch {
            let located = error.at(task.currentRequest.url)
            if let teller = complete(task, with: located) { await tell(teller, of: task, located) }
            throw located
        }
    }

    private func begin(_ task: DataTask) throws(LoadError) {
        if let cancellation = task.load.cancellation { throw cancellation }
        let now = MonotonicTime.now
        let isFirst = task.load.record.withLock { record in
            guard !record.hasStarted else { return false }
            record.hasStarted = true
            record.start = now
            if record.state == .suspended { record.state = .running }
            return true
        }
        guard isFirst else { throw LoadError(.unknown, "The task was started before.") }
        task.load.deadline = task.configuration.timeoutIntervalForResource.map(now.advanced)
    }

    private func firstRequest(of task: DataTask) -> Request {
        var request = task.originalRequest
        for field in task.configuration.httpAdditionalHeaders
        where !task.originalRequest.headerFields.contains(field.name) {
            request.headerFields.append(field)
        }
        return request
    }

    // MARK: A hop

    /// Checks the request and finds the connections it may use.
    private func admit(_ request: Request, of task: DataTask) throws(LoadError) -> Partition {
        if let cancellation = task.load.cancellation { throw cancellation }
        try RequestRules.check(request)
        let configuration = task.configuration
        let partition = partition(
            for: Partition.Key(
                session: task.session.identifier, targetPolicy: configuration.targetPolicy, tls: configuration.tls,
                httpVersion: configuration.httpVersion))
        try judge(request.url, by: partition, isRedirect: task.load.transfer != nil)
        return partition
    }

    private func start(
        _ request: Request, with source: UploadSource?, in partition: Partition, of task: DataTask
    ) throws(LoadError) -> Transfer {
        let load = task.load
        if let cancellation = load.cancellation { throw cancellation }
        let transfer = Transfer(
            request: request, configuration: task.configuration, load: load, partition: partition, source: source)
        load.transfer = transfer
        load.record.withLock { $0.currentRequest = request }
        partition.enqueue(transfer)
        return transfer
    }

    private func judge(_ url: URLRecord, by partition: Partition, isRedirect: Bool) throws(LoadError) {
        guard !partition.isUnrestricted else { return }
        do throws(TargetRefusal) {
            try partition.targetGuard.judge(url)
        } catch {
            throw isRedirect
                ? LoadError(.redirectTargetForbidden, "The server redirects to a target that is not allowed.")
                : LoadError(.init(error.code.name), error.message)
        }
    }

    private func stream(
        from provider: any BodyStreamProvider, length: Int64?
    ) async throws(LoadError) -> UploadSource {
        guard let pipe = await provider.makeStream() else {
            throw LoadError(.requestBodyStreamExhausted, "The body has to be sent and there is no stream for it.")
        }
        return UploadSource(pipe, length: length)
    }

    private func source(for request: Request) throws(LoadError) -> UploadSource? {
        switch request.body {
        case .bytes(let bytes): return UploadSource(bytes)
        case .file(let path): return try UploadSource(path: path)
        case nil, .stream:
            // These methods anticipate content, so its absence is said (RFC 9110 §8.6).
            let anticipatesContent = [.post, .put, .patch].contains(request.method)
            return anticipatesContent ? UploadSource([]) : nil
        }
    }

    private func isHeld(_ load: Load) -> Bool {
        load.isSuspended = load.record.withLock { $0.suspensions > 0 }
        return load.isSuspended && load.cancellation == nil
    }

    /// Waits while the task is suspended.
    private func released(_ load: Load) async {
        await withCheckedContinuation { continuation in
            // The loop may have turned on the way here.
            if load.isSuspended, load.cancellation == nil {
                load.gate = continuation
            } else {
                continuation.resume()
            }
        }
    }

    private func head(of transfer: Transfer, limit: Int) throws(LoadError) -> Response {
        if let cancellation = transfer.load.cancellation { throw cancellation }
        // Who wants the head alone gets it, and the error behind the bytes that came.
        if case .some(.some(let error)) = transfer.outcome, limit > 0 || transfer.response == nil { throw error }
        guard let response = transfer.response else {
            throw LoadError(.networkConnectionLost, "The connection was lost before an answer was complete.")
        }
        return response
    }

    // MARK: Between two hops

    /// The request to make next, or nil when this response is the final one.
    private func hop(
        after response: Response, to request: Request, of task: DataTask, _ redirects: inout RedirectMachine
    ) async throws(LoadError) -> Request? {
        switch redirects.received(response, to: request) {
        case .deliver: return nil
        case .fail(let error): throw error
        case .propose(let proposed, let redirect):
            guard let next = try await decision(on: proposed, response, of: task) else { return nil }
            task.load.record.withLock { $0.redirects.append(redirect) }
            return next
        }
    }

    private func decision(
        on proposed: Request, _ response: Response, of task: DataTask
    ) async throws(LoadError) -> Request? {
        for delegate in [task.delegate, task.session.delegate].compactMap({ $0 as (any TaskDelegate)? }) {
            let answer = await delegate.task(task, willPerformHTTPRedirection: response, newRequest: proposed)
            if let cancellation = task.load.cancellation { throw cancellation }
            switch answer {
            case .performDefaultHandling: continue
            case .follow(let request): return request
            case .returnResponse: return nil
            case .cancel: throw LoadError(.cancelled, "The redirect was answered with cancel.")
            }
        }
        return proposed
    }

    // MARK: The final response

    private func offer(
        _ response: Response, of task: DataTask, to teller: any TaskDelegate
    ) async throws(LoadError) {
        let disposition = await teller.task(task, didReceive: response)
        if let cancellation = task.load.cancellation { throw cancellation }
        if case .cancel = disposition { throw LoadError(.cancelled, "The response was answered with cancel.") }
    }

    /// Leaves the response, and the body if it is whole, with the task.
    ///
    /// Returns whether the load is complete.
    private func deliver(
        _ response: Response, of transfer: Transfer, limit: Int, to task: DataTask
    ) throws(LoadError) -> Bool {
        let error = transfer.outcome ?? nil
        if let error, limit > 0 { throw error }
        let isComplete = transfer.outcome != nil && error == nil && transfer.body.count <= limit
        let body = isComplete ? transfer.takeBody() : nil
        task.load.record.withLock { record in
            record.response = response
            record.completeBody = body
        }
        return isComplete
    }

    /// The next bytes of the body, or nil at its end.
    func nextBytes(of task: DataTask) async throws(LoadError) -> [UInt8]? {
        guard let transfer = task.load.transfer else { return nil }
        if !transfer.isMet(.data) { await transfer.arrival(.data, isolation: self) }
        let bytes = transfer.takeBody()
        guard bytes.isEmpty else { return bytes }
        guard case .some(let error) = transfer.outcome else { return bytes }
        if let teller = complete(task, with: error) { await tell(teller, of: task, error) }
        if let error { throw error }
        return nil
    }

    /// The last step of every load; the first call counts.
    ///
    /// Returns who is to be told.
    private func complete(_ task: DataTask, with error: LoadError? = nil) -> (any TaskDelegate)? {
        if let error { task.load.transfer?.abort(error) }
        task.load.transfer = nil
        let isFirst = task.load.record.withLock { record in
            defer { record.state = .completed }
            if record.end == nil { record.end = .now }
            return record.state != .completed
        }
        guard isFirst else { return nil }
        guard let teller = task.teller else {
            task.session.ended(task.identifier)
            return nil
        }
        return teller
    }

    private func tell(_ teller: any TaskDelegate, of task: DataTask, _ error: LoadError?) async {
        await teller.task(task, didFinishCollecting: task.metrics)
        await teller.task(task, didCompleteWith: error)
        task.session.ended(task.identifier)
    }
}
