import FetchJobs
import HTTPTypes

/// One thing that happened to a message.
struct QStashLogEntry: Sendable {
    /// As clients read them.
    enum State: String, Sendable, CaseIterable {
        case created = "CREATED"
        case active = "ACTIVE"
        case retry = "RETRY"
        case error = "ERROR"
        case delivered = "DELIVERED"
        case failed = "FAILED"
        case cancelRequested = "CANCEL_REQUESTED"
        case cancelled = "CANCELED"
    }

    let message: Job.ID
    let state: State
    let time: Timestamp
    var error: String?
    var status: Int?
    var next: Timestamp?

    /// Those of a message, the oldest first: later ones come behind them.
    static func all(of job: Job, _ spec: JobSpec) -> [QStashLogEntry] {
        func entry(_ state: State, _ time: Timestamp) -> QStashLogEntry {
            QStashLogEntry(message: job.id, state: state, time: time)
        }
        var created = entry(.created, job.createdAt)
        created.next = spec.runAt
        var entries = [created]
        for attempt in job.attempts {
            entries.append(entry(.active, attempt.startedAt))
            switch attempt.state {
            case .succeeded:
                var delivered = entry(.delivered, attempt.finishedAt)
                delivered.status = attempt.status
                entries.append(delivered)
            case .cancelled: break
            default:
                var failed = entry(.error, attempt.finishedAt)
                (failed.error, failed.status) = (attempt.errorName, attempt.status)
                entries.append(failed)
                if let next = attempt.nextAttemptAt {
                    var retry = entry(.retry, attempt.finishedAt)
                    retry.next = next
                    entries.append(retry)
                }
            }
        }
        if job.state == .running, let start = job.startedAt { entries.append(entry(.active, start)) }
        if job.isCancelling, !job.state.isFinal {
            entries.append(entry(.cancelRequested, job.startedAt ?? job.createdAt))
        }
        let end = job.finishedAt ?? entries.last?.time ?? job.createdAt
        switch job.state {
        case .failed:
            var failed = entry(.failed, end)
            (failed.error, failed.status) = (job.attempts.last?.errorName, job.attempts.last?.status)
            entries.append(failed)
        case .cancelled: entries.append(entry(.cancelled, end))
        default: break
        }
        return entries
    }

    func write(of spec: JobSpec, _ writer: inout JSONWriter) {
        writer.member("time", time.microseconds / 1000)
        writer.member("messageId", message.description)
        writer.member("state", state.rawValue)
        writer.member("error", error)
        writer.member("responseStatus", status)
        writer.member("nextDeliveryTime", next.map { $0.microseconds / 1000 })
        writer.member("url", "\(spec.request.url)")
        writer.member("method", spec.request.method.rawValue)
        writer.member("maxRetries", QStashMessage.retries(of: spec))
        writer.member("retryDelayExpr", QStashMessage.retryDelay(spec.configuration.retry.backoff))
        writer.member("scheduleId", QStashMessage.label(QStashDoor.labelOfSchedule, of: spec))
        for callback in spec.callbacks {
            writer.member(callback.occasion.member, "\(callback.job.request.url)")
        }
        QStashMessage.writeLabels(of: spec, &writer)
    }
}
