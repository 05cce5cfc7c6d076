import FetchJobs
import HTTPTypes
import Hummingbird

extension Creation {
    /// The answer to the request: that to what was made, now or before.
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
