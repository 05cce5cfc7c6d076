import FetchEngine

struct StayOnHost: TaskDelegate {
    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition {
        newRequest.url.host == task.originalRequest.url.host ? .follow(newRequest) : .returnResponse
    }
}

let session = Session()
let request = Request(url: try URLRecord("https://www.example.com/old"))
let (body, response) = try await session.data(for: request, delegate: StayOnHost())
