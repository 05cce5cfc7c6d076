/// An exchange that is over before it begins: a response from memory.
// @unchecked: everything here is touched on the loop's thread alone.
final class StoredExchange: Exchange, @unchecked Sendable {
    let request: Request
    let shared: SharedConfiguration
    let state: LoadState
    let delivery: Delivery

    init(
        _ response: Response, body: [UInt8], for request: Request, configuration: SharedConfiguration, state: LoadState
    ) {
        self.request = request
        shared = configuration
        self.state = state
        delivery = Delivery(for: request)
        delivery.response = response
        delivery.body = body
        delivery.bodyBytes = Int64(body.count)
        delivery.outcome = .some(nil)
    }
}
