import FetchEngine
import Foundation
import HTTPTypes

/// Runs one task from its submission to its completion.
struct TaskRun {
    private let task: RemoteURLSessionTask
    /// The questions that were answered here.
    private var answered: Set<String> = []
    /// Why the service has refused an answer of the delegate.
    private var refusal: LoadError?

    init(_ task: RemoteURLSessionTask) { self.task = task }

    private var session: RemoteURLSession { task.session }
    private var service: FetchdService { session.service }
    private var delegate: (any RemoteURLSessionDelegate)? { session.delegate }

    /// - Parameter refusal: Why it cannot be run.
    mutating func run(unless refusal: LoadError?) async {
        if let refusal { return await complete(with: refusal) }
        if !task.isAdopted { await delegate?.urlSession(session, didCreateTask: task) }
        guard task.state != .canceling else { return await complete(with: nil) }
        do throws(FetchdError) {
            let id = try await jobID()
            start { [task] in await obey(task, id) }
            let job = try await follow(id)
            await complete(with: await content(of: job), job.metrics)
        } catch { await complete(with: LoadError(error)) }
    }

    // MARK: The job

    private func jobID() async throws(FetchdError) -> String {
        if let id = task.jobID { return id }
        let remote = try await session.remote()
        let key = UUID().uuidString
        let id: String
        if session.configuration.isBackground {
            id = try await persistently { () async throws(FetchdError) in try await submit(to: remote, key: key) }
        } else {
            id = try await submit(to: remote, key: key)
        }
        task.began(as: id)
        return id
    }

    private func submit(to remote: ServiceSession?, key: String) async throws(FetchdError) -> String {
        let request = task.originalRequest
        let body = try await service.transport.document(of: request, asBlob: remote != nil, key: "\(key)-body")
        var options = JobOptions()
        options.kind = task.kind
        options.session = remote?.id
        options.labels = TaskLabels.of(task)
        options.priority = Double(task.priority)
        options.configuration = session.configuration.document(for: delegate, idle: request.timeoutInterval)
        return try await service.jobs.submit(options.document(for: request, body: body), key: key).id
    }

    /// Follows the job to its end, through all that happens to the service and the connection meanwhile.
    private mutating func follow(_ id: String) async throws(FetchdError) -> Job {
        var last: String?
        var failures = 0
        var isFresh = !task.isAdopted
        while true {
            do throws(FetchdError) {
                // A load that was parked tells nobody again of the question that it waits with.
                if !isFresh { try await answerOpenQuestions(of: id) }
                let events = JobEvents(transport: service.transport, job: id, lastEventID: last, repeats: 0)
                for try await event in events {
                    failures = 0
                    if event.type == "job.finished" { return try event.decode() }
                    try await handle(event, isFresh: isFresh)
                    last = event.id ?? last
                }
                return try await service.jobs.get(id)
            } catch {
                guard error.isRetryable else { throw error }
                try await pause(error.retryAfter ?? .backoff(failures))
                failures += 1
                isFresh = false
            }
        }
    }

    // MARK: What happens

    /// - Parameter isFresh: Whether the event cannot be an old one that comes again.
    private mutating func handle(_ event: JobEvent, isFresh: Bool) async throws(FetchdError) {
        switch event.type {
        case "job.question":
            var question: Question = try event.decode()
            if !isFresh, !answered.contains(question.id) { question = try await service.questions.get(question.id) }
            try await answer(question)
        case "job.canonicalized":
            guard let canonical = event.data["canonical"]?.string, let url = try? URLRecord(canonical) else { return }
            var request = task.currentRequest
            request.url = url
            task.redirected(to: request)
        case "job.redirected":
            guard let location = event.data["location"]?.string, let url = try? URLRecord(location) else { return }
            var request = task.currentRequest
            request.url = url
            request.method = event.data["method"]?.string.flatMap { .init($0) } ?? request.method
            task.redirected(to: request)
        case "job.response":
            if let response = try? event.decode(as: ResponseDocument.self).response() { task.received(response) }
        case "job.becameDownload": task.became(.download)
        case "job.informational":
            guard let response = try? event.decode(as: ResponseDocument.self).response() else { return }
            await delegate?.urlSession(session, task: task, didReceiveInformationalResponse: response)
        case "job.progress": await progressed(to: try event.decode())
        default: break
        }
    }

    private func progressed(to progress: Job.Progress) async {
        let before = task.reached(progress)
        let (sent, received) = (before?.bytesSent ?? 0, before?.bytesReceived ?? 0)
        if progress.bytesSent > sent {
            await delegate?.urlSession(
                session, task: task, didSendBodyData: progress.bytesSent - sent, totalBytesSent: progress.bytesSent,
                totalBytesExpectedToSend: progress.bytesExpectedToSend)
        }
        if task.kind == .download, progress.bytesReceived > received {
            await delegate?.urlSession(
                session, downloadTask: task, didWriteData: progress.bytesReceived - received,
                totalBytesWritten: progress.bytesReceived, totalBytesExpectedToWrite: progress.bytesExpectedToReceive)
        }
    }

    // MARK: Questions

    private mutating func answerOpenQuestions(of id: String) async throws(FetchdError) {
        for try await question in service.questions.list(state: .open, job: id) { try await answer(question) }
    }

    private mutating func answer(_ question: Question) async throws(FetchdError) {
        guard question.state == .open, !answered.contains(question.id) else { return }
        let answer = await QuestionAnswer(question).answer(for: task)
        answered.insert(question.id)
        do throws(FetchdError) {
            try await send(answer, to: question)
        } catch  where error.code == .answerNotAllowed || error.code.rawValue == "invalidInput" {
            let rule = error.brokenRules.first?.message ?? error.message
            refusal = LoadError(.cancelled, "The service has refused the answer of the delegate: \(rule)")
            try await send("cancel", to: question)
        }
    }

    private func send(_ answer: JSONValue, to question: Question) async throws(FetchdError) {
        do throws(FetchdError) {
            try await persistently { () async throws(FetchdError) in
                _ = try await service.questions.answer(question, answer)
            }
        } catch  where [.alreadyAnswered, .questionClosed, .notFound].contains(error.code) {
            // Somebody else has answered, or the load does not wait any more.
        }
    }

    // MARK: The end

    /// Delivers what the job has brought, and returns why that is nothing.
    private func content(of job: Job) async -> LoadError? {
        if let response = job.response { task.received(response) }
        if let kind = job.kind { task.became(kind) }
        guard task.state != .canceling else { return nil }
        switch job.state {
        case .succeeded:
            do throws(FetchdError) {
                if task.kind == .download { try await deliverFile(of: job) } else { try await deliverData(of: job) }
                return nil
            } catch { return LoadError(error) }
        case .failed: return job.error ?? LoadError(.unknown, "The job has failed.")
        default: return refusal ?? LoadError(.cancelled, "The job was cancelled.")
        }
    }

    private func deliverData(of job: Job) async throws(FetchdError) {
        guard job.body.map({ $0.bytes > 0 }) ?? false else { return }
        for try await chunk in service.jobs.body(job.id) {
            guard task.state != .canceling else { return }
            await delegate?.urlSession(session, dataTask: task, didReceive: chunk)
        }
    }

    private func deliverFile(of job: Job) async throws(FetchdError) {
        let file = try TemporaryFile()
        defer { file.remove() }
        for try await chunk in service.jobs.body(job.id) {
            guard task.state != .canceling else { return }
            try file.write(chunk)
        }
        try file.finish()
        await delegate?.urlSession(session, downloadTask: task, didFinishDownloadingTo: file.location)
    }

    private func complete(with error: LoadError?, _ metrics: TaskMetrics = TaskMetrics()) async {
        let error = task.completed(error)
        await delegate?.urlSession(session, task: task, didFinishCollecting: metrics)
        await delegate?.urlSession(session, task: task, didCompleteWithError: error)
        if session.configuration.isBackground, let id = task.jobID {
            // Only now: a process that ends before is told of the end again.
            _ = try? await persistently { () async throws(FetchdError) in
                try await service.jobs.setLabels([TaskLabels.state: TaskLabels.ended], of: id)
            }
        }
        await session.ended(task)
    }
}

/// Does with the job what the program does with its task, in order.
///
/// What the service refuses has come too late: the job's end tells.
private func obey(_ task: RemoteURLSessionTask, _ id: String) async {
    let jobs = task.session.service.jobs
    for await command in task.commands {
        _ = try? await persistently { () async throws(FetchdError) in
            switch command {
            case .suspend: try await jobs.suspend(id)
            case .resume: try await jobs.resume(id)
            case .cancel: try await jobs.cancel(id)
            case .describe:
                try await jobs.setLabels([TaskLabels.description: TaskLabels.value(of: task.taskDescription)], of: id)
            }
        }
    }
}

extension LoadError {
    /// Why a task of the service has failed here, in the words of tasks.
    init(_ error: FetchdError) {
        if let underlying = error.underlying {
            self = underlying
        } else {
            self.init(Code(error.code.rawValue, -1), error.detail ?? error.message)
        }
    }
}
