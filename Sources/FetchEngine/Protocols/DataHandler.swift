import HTTPTypes

/// Serves `data:` URLs (RFC 2397), in every session.
struct DataHandler: ProtocolHandler {
    func canHandle(_ request: Request) -> Bool { request.url.scheme == "data" }

    func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
        try Self.checkMethod(of: request)
        let content = try DataURL(request.url)
        let response = Response(
            url: request.url, status: .ok,
            headerFields: [
                .contentType: "\(content.mediaType)", .contentLength: "\(content.data.count)",
            ],
            httpVersion: "data", expectedContentLength: Int64(content.data.count))
        try await client.received(response, storagePolicy: .notAllowed)
        if request.method != .head { try await client.received(content.data) }
    }

    /// Refuses all methods but GET and HEAD: data in the URL itself or on the disk can only be read.
    static func checkMethod(of request: Request) throws(LoadError) {
        guard request.method == .get || request.method == .head else {
            throw LoadError(.methodInvalid, "\(request.url.scheme) URLs know the methods GET and HEAD only.")
        }
    }
}
