import FetchJobs
import HTTPTypes
import Hummingbird

/// What other nodes ask this one for: the bytes in its data directory.
///
/// It answers by what is there, and asks nobody else. No part of the API: who has a key for the service has none for this.
struct NodeRoutes: Sendable {
    /// Those in the data directory alone.
    let blobs: any BlobStore
    let signIns: any SignInStore
    let authenticator: Authenticator

    var routes: [Route] {
        [Route(.get, "/nodes/blobs/{id}", read), Route(.delete, "/nodes/blobs/{id}", delete)]
    }

    private func read(_ call: Call) async throws -> Response {
        let id = try await blob(of: call, to: .read)
        let query = try call.query(allowing: ["from", "to"])
        let end = try query.integer("to", in: 0...Int.max, default: 0)
        let start = try query.integer("from", in: 0...end, default: 0)
        let body = try await Representation.content(Int64(start)..<Int64(end), of: .blob(id), from: blobs)
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"], body: body)
    }

    private func delete(_ call: Call) async throws -> Response {
        let id = try await blob(of: call, to: .delete)
        _ = try call.query()
        try await blobs.delete(id)
        return Response(status: .noContent)
    }

    /// The blob that a call is about, which is here, and for which it has a pass.
    private func blob(of call: Call, to purpose: BlobPass.Purpose) async throws -> Blob.ID {
        let prefix = "Bearer "
        guard let id = Blob.ID(call.parameter), let field = call.headers[.authorization], field.hasPrefix(prefix),
            BlobPass.isValid(
                String(field.dropFirst(prefix.count)), to: purpose, id, secret: try await signIns.secret())
        else { throw authenticator.failure(of: call) }
        // The address may have been another node's.
        guard id.volume == blobs.volume else {
            throw Problem(.misdirectedRequest, "The bytes are not in the data directory of this node.")
        }
        return id
    }
}
