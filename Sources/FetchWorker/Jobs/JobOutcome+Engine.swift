// What the engine says of a task, in the words that are stored.

import FetchEngine
import FetchJobs
import HTTPTypes

extension JobOutcome {
    init(
        _ result: Result<(Response, Body?), LoadError>, of task: SessionTask, startedAt start: Timestamp
    ) {
        switch result {
        case .success((let response, let body)):
            self.init(state: .succeeded, startedAt: start, finishedAt: .now)
            status = response.status.code
            self.response = RawJSON(JSONWriter.object(response.write))
            self.body = body
        case .failure(let error): self.init(failing: error, startedAt: start)
        }
        let metrics = task.metrics
        self.metrics = RawJSON.array { writer in
            for transaction in metrics.transactions { transaction.write(&writer, taskStart: start) }
        }
        let redirects = task.redirects
        guard !redirects.isEmpty else { return }
        self.redirects = RawJSON.array { writer in redirects.forEach { $0.write(&writer) } }
    }

    /// What a job came to that ended with an error, in its load or before it.
    init(failing error: LoadError, startedAt start: Timestamp) {
        self.init(state: error.code == .cancelled ? .cancelled : .failed, startedAt: start, finishedAt: .now)
        errorName = error.code.name
        self.error = RawJSON(JSONWriter.object(error.write))
    }
}

extension RawJSON {
    fileprivate static func array(_ elements: (inout JSONWriter) -> Void) -> RawJSON {
        var writer = JSONWriter()
        writer.array(elements)
        return RawJSON(writer.bytes)
    }
}
