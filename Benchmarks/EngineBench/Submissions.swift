import EventLoop
import FetchEngine
import FetchdClient
import Foundation
import HTTPTypes

/// Submits jobs one after the other to the service of FETCHD_URL, by its client or by the engine alone, and prints the
/// seconds and those of the processor.
func submit(_ total: Int, byClient: Bool) async throws {
    let submission = byClient ? try submissionByClient() : try submissionByEngine()
    for number in 0..<50 { try await submission(number) }
    let start = Usage.Figures.now
    for number in 50..<(50 + total) { try await submission(number) }
    let spent = Usage.Figures.now.since(start)
    print("[\(spent.wall), \(spent.cpu)]")
}

private func submissionByClient() throws -> (Int) async throws -> Void {
    let service = FetchdService()
    let request = Request(url: try URLRecord("https://example.com/"))
    var options = JobOptions()
    // It never runs.
    options.runAt = Date(timeIntervalSince1970: 4_102_444_800)
    return { [options] _ in _ = try await service.jobs.submit(request, options: options) }
}

private func submissionByEngine() throws -> (Int) async throws -> Void {
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["FETCHD_URL"], let key = environment["FETCHD_KEY"] else { throw Usage() }
    let session = Session(configuration: .ephemeral)
    var request = Request(
        url: try URLRecord("\(url)/v1/jobs"), method: .post,
        body: .bytes(Array(#"{"request": "https://example.com/", "runAt": "2100-01-01T00:00:00Z"}"#.utf8)))
    request.headerFields[.authorization] = "Bearer \(key)"
    request.headerFields[.contentType] = "application/json"
    guard let name = HTTPField.Name("Idempotency-Key") else { throw Usage() }
    return { [request] number in
        var request = request
        request.headerFields[name] = "\(ProcessInfo.processInfo.processIdentifier)-\(number)"
        let (_, response) = try await session.data(for: request)
        guard response.status.code == 202 || response.status.code == 201 else { throw Usage() }
    }
}
