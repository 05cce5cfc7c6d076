import FetchEngine

let session = Session()
let request = Request(url: try URLRecord("https://www.example.com/"))
let (body, response) = try await session.data(for: request)
