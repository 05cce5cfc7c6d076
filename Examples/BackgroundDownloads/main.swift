import FetchEngine
import FetchdClient
import Foundation

/// Puts each file under the name of its task, and says what became of it.
struct Downloads: RemoteURLSessionDelegate {
    let finished: AsyncStream<Void>.Continuation

    func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didFinishDownloadingTo location: URL
    ) async {
        let place = URL(filePath: downloadTask.taskDescription ?? "download")
        try? FileManager.default.removeItem(at: place)
        try? FileManager.default.moveItem(at: location, to: place)
    }

    func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didCompleteWithError error: LoadError?
    ) async { print("\(task.taskDescription ?? ""): \(error?.message ?? "complete")") }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: RemoteURLSession) async { finished.finish() }
}

let (events, finished) = AsyncStream.makeStream(of: Void.self)
let session = RemoteURLSession(
    FetchdService(), configuration: .background(withIdentifier: "nightly"), delegate: Downloads(finished: finished))
for task in await session.allTasks { print("\(task.taskDescription ?? "") goes on") }
for argument in CommandLine.arguments.dropFirst() {
    let task = session.downloadTask(with: try Request(argument))
    task.taskDescription = String(argument.split(separator: "/").last ?? "download")
    task.resume()
}
for await _ in events {}
