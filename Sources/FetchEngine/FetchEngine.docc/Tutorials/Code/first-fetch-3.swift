import FetchEngine

let session = Session()
let request = Request(url: try URLRecord("https://www.example.com/large.csv"))
let (body, response) = try await session.bytes(for: request)
guard response.status.code == 200 else { throw LoadError(.badServerResponse, "The page is not there.") }
for try await line in body.lines { print(line) }
