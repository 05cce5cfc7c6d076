/// The labels of a job by which its task is found again.
enum TaskLabels {
    static let identifier = "urlsession.task"
    static let description = "urlsession.description"
    static let state = "urlsession.state"

    /// The state of a task whose end the delegate has not been told of, or not to the end.
    static let open = "open"
    static let ended = "ended"

    static func of(_ task: RemoteURLSessionTask) -> [String: String] {
        var labels = [identifier: "\(task.taskIdentifier)"]
        // Only those of background sessions are looked for.
        if task.session.configuration.isBackground { labels[state] = open }
        labels[description] = task.taskDescription.map { String($0.prefix(256)) }
        return labels
    }
}
