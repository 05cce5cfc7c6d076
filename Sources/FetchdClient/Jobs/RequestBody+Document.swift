import FetchEngine
import Foundation
import HTTPTypes

extension HTTPFields {
    /// The fields as the API writes those of a request.
    var documents: [JSONValue] {
        map { ["name": .string($0.name.rawName), "value": .string($0.value)] }
    }
}

extension Transport {
    /// A larger body is sent apart from its job.
    private static let maximumInlineBytes = 512 << 10

    /// The body of a request as the API writes it: in base64, or as a blob that is stored first.
    ///
    /// - Parameters:
    ///   - asBlob: Whether it is a blob however small it is, as background sessions want it.
    ///   - key: The `Idempotency-Key` of the blob.
    func document(of request: Request, asBlob: Bool, key: String) async throws(FetchdError) -> JSONValue? {
        guard let body = request.body else { return nil }
        if case .bytes(let bytes) = body, !asBlob, bytes.count <= Self.maximumInlineBytes {
            return ["base64": .string(Data(bytes).base64EncodedString())]
        }
        var call = Call(.post, "/v1/blobs", key: key)
        call.headers[.contentType] = request.headerFields[.contentType] ?? "application/octet-stream"
        call.body = body
        let blob = try await document(call)
        return ["blob": blob["id"] ?? .null]
    }
}
