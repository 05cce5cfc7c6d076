import FetchJobs
import HTTPTypes
import Hummingbird

/// The entity tag of what clients change, and what changes by itself, too (RFC 9110 §8.8.3): `"3-…"`.
///
/// Its beginning is the version that clients make, and `If-Match` asks for that alone: a change is not refused because
/// time has passed. All of it stands for the bytes, so that `If-None-Match` tells whether anything is new.
struct VersionTag {
    let version: Int32

    /// The version alone, which `If-Match` takes as well.
    var text: String { "\"\(version)\"" }

    /// The tag of a representation.
    func text(for bytes: [UInt8]) -> String { "\"\(version)-\(SHA256Digest(of: bytes).tag.dropFirst())" }

    /// Refuses the change of a client that names the versions it has seen, and not this one (RFC 9110 §13.1.1).
    ///
    /// - Throws: ``Problem`` `preconditionFailed`.
    func require(by call: Call, of subject: String) throws {
        let seen = call.headers[values: .ifMatch].joined(separator: ",")
        guard seen.isEmpty || Representation.matches(seen, { $0 == text || $0.hasPrefix("\"\(version)-") }) else {
            throw Problem(.preconditionFailed, "\(subject) is at \(text).")
        }
    }
}

extension Response {
    /// A JSON object with the tag of its version and bytes.
    static func json(
        status: HTTPResponse.Status = .ok, _ tag: VersionTag, _ members: (inout JSONWriter) -> Void
    ) -> Response {
        let bytes = JSONWriter.object(members)
        var response = Response.json(bytes, status: status)
        response.headers[.eTag] = tag.text(for: bytes)
        return response
    }
}
