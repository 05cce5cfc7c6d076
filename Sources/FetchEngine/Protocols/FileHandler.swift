import HTTPTypes

/// Serves `file:` URLs (RFC 8089) below the roots it was made with.
struct FileHandler: ProtocolHandler {
    private let roots: [FileRoot]
    private static let blockSize = 64 * 1024

    init(roots: [FileRoot]) { self.roots = roots }

    func canHandle(_ request: Request) -> Bool { !roots.isEmpty && request.url.scheme == "file" }

    func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
        try DataHandler.checkMethod(of: request)
        let path = try FilePath(request.url)
        guard let root = roots.first(where: { $0.contains(path) }) else {
            throw LoadError(.noPermissionsToReadFile, "The file lies below none of the roots that may be read.")
        }
        let file = try root.open(path)
        let range = ByteRange(request.headerFields[values: .range], length: file.length)
        try await client.received(
            Self.response(to: request, path: path, range: range, length: file.length), storagePolicy: .notAllowed)
        guard request.method != .head else { return }
        try await Self.send(file, range.bytes(of: file.length), to: client)
    }

    private static func send(
        _ file: OpenFile, _ range: Range<Int64>, to client: any ProtocolClient
    ) async throws(LoadError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let bytes = try file.read(at: offset, count: Int(min(Int64(blockSize), range.upperBound - offset)))
            guard !bytes.isEmpty else {
                throw LoadError(.networkConnectionLost, "The file became shorter while it was read.")
            }
            offset += Int64(bytes.count)
            try await client.received(bytes)
        }
    }

    private static func response(
        to request: Request, path: FilePath, range: ByteRange, length: Int64
    ) -> Response {
        let bytes = range.bytes(of: length)
        var fields: HTTPFields = [
            .contentType: path.mediaType, .acceptRanges: "bytes",
            .contentLength: "\(bytes.upperBound - bytes.lowerBound)",
        ]
        fields[.contentRange] = range.contentRange(of: length)
        return Response(
            url: request.url.withoutCredentials(), status: range.status, headerFields: fields, httpVersion: "file",
            expectedContentLength: bytes.upperBound - bytes.lowerBound)
    }
}
