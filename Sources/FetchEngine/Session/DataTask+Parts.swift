package import HTTPTypes
import Synchronization

// A body whose parts replace one another: each is a response of its own (MPR-1, LIF-16).
extension DataTask {
    /// Delivers the body to the delegate part by part, and the end.
    ///
    /// The connection waits for a delegate that takes its time. Such a body is not stored.
    nonisolated(nonsending) func deliverParts(separatedBy boundary: MultipartBoundary) async {
        await session.transferLoop.run { loop in await self.deliverParts(separatedBy: boundary, on: loop) }
    }

    private func deliverParts(separatedBy boundary: MultipartBoundary, on loop: isolated TransferLoop) async {
        load.storing = nil
        var parser = MultipartParser(boundary)
        do throws(LoadError) {
            guard let whole = response else { return }
            while let chunk = try await load.nextChunk(on: loop) {
                parser.append(chunk)
                while let event = try parser.next() {
                    try await deliver(event, of: whole, on: loop)
                    if parser.endsTurn() { await Task.yield() }
                }
            }
            for event in parser.finish() { try await deliver(event, of: whole, on: loop) }
            await load.complete(on: loop)
        } catch {
            await load.complete(with: load.located(error), on: loop)
        }
    }

    private func deliver(
        _ event: MultipartParser.Event, of whole: Response, on loop: isolated TransferLoop
    ) async throws(LoadError) {
        guard let notifiedDelegate else { return }
        switch event {
        case .head(let fields):
            let part = whole.part(fields)
            load.record.withLock { $0.response = part }
            beginPart()
            let answer = try await load.answer(on: loop) { await notifiedDelegate.task(self, didReceive: part) }
            if case .cancel = answer { throw LoadError(.cancelled, "The delegate cancelled the load at a part.") }
        case .data(let bytes):
            countPart(bytes.count)
            await notifiedDelegate.task(self, didReceive: bytes)
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

    /// The boundary between the parts of the body, when they replace one another.
    package var boundary: MultipartBoundary? { mediaType.flatMap(MultipartBoundary.init) }
}
