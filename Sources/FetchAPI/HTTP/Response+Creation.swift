import FetchJobs
import HTTPTypes
import Hummingbird

extension Creation {
    /// The response for the object that was made, now or before.
    func response(_ response: (Made) -> Response) throws -> Response {
        switch self {
        case .created(let made): return response(made)
        case .replayed(let made):
            var response = response(made)
            response.headers[.idempotencyReplayed] = "true"
            return response
        case .conflict:
            throw Problem(parameter: "Idempotency-Key", "was used for another body", code: .idempotencyKeyReused)
        }
    }
}
