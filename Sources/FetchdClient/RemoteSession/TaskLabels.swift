/// The labels of a job by which its task is found again.
enum TaskLabels {
    static let identifier = "urlsession.task"
    static let description = "urlsession.description"
    static let state = "urlsession.state"

    /// The state of a task whose end the delegate has not been told of, or not to the end.
    static let open = "open"
    static let ended = "ended"

    /// A description as far as a label holds it.
    static func value(of description: String?) -> String? { description.map { String($0.prefix(256)) } }

    static func of(_ task: RemoteURLSessionTask) -> [String: String] {
        var labels = [identifier: "\(task.taskIdentifier)"]
        // Only those of background sessions are looked for.
        if task.session.configuration.isBackground { labels[state] = open }
        labels[description] = value(of: task.taskDescription)
        return labels
    }
}
