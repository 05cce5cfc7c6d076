package import HTTPTypes
import Synchronization

// A body whose parts replace one another: each is a response of its own (MPR-1, LIF-16).
extension TransferLoop {
    /// Tells the delegate the body part by part, and the end.
    ///
    /// The connection waits for a delegate that takes its time. Such a body is not stored.
    func tellParts(of task: DataTask, separatedBy boundary: MultipartBoundary) async {
        task.load.storing = nil
        var parser = MultipartParser(boundary)
        do throws(LoadError) {
            guard let whole = task.response else { return }
            while let chunk = try await nextChunk(of: task) {
                parser.append(chunk)
                while let event = try parser.next() {
                    try await tell(event, of: whole, to: task)
                    if parser.endsTurn() { await Task.yield() }
                }
            }
            for event in parser.finish() { try await tell(event, of: whole, to: task) }
            if complete(task) { await tell(task, nil) }
        } catch {
            let error = error.at(task.currentRequest.url)
            if complete(task, with: error) { await tell(task, error) }
        }
    }

    private func tell(
        _ event: MultipartParser.Event, of whole: Response, to task: DataTask
    ) async throws(LoadError) {
        guard let teller = task.teller else { return }
        switch event {
        case .head(let fields):
            let part = whole.part(fields)
            task.load.record.withLock { $0.response = part }
            let answer = try await task.load.answer(isolation: self) { await teller.task(task, didReceive: part) }
            if case .cancel = answer { throw LoadError(.cancelled, "The response was answered with cancel.") }
        case .data(let bytes): await teller.task(task, didReceive: bytes)
        case .end: break
        }
    }
}

extension Response {
    /// The response that a part of this one's body is.
    package func part(_ fields: HTTPFields) -> Response {
        let length = fields[.contentLength].flatMap { HeadCollector.number($0.utf8) }
        return Response(
            url: url, status: status, headerFields: fields, httpVersion: httpVersion, expectedContentLength: length)
    }

    /// What separates the parts of the body, when they replace one another.
    package var boundary: MultipartBoundary? { mediaType.flatMap(MultipartBoundary.init) }
}
