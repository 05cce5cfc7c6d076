import FetchEngine

let session = Session()
let request = Request(url: try URLRecord("https://www.example.com/"))
let (body, response) = try await session.data(for: request)
guard response.status.code == 200 else { throw LoadError(.badServerResponse, "The page is not there.") }
print(response.mimeType ?? "unknown", body.count)
