import Crypto
import Foundation
import HTTPTypes
import Hummingbird

struct Message: Decodable {
    struct Question: Decodable {
        struct Facts: Decodable {
            struct Proposed: Decodable { let url: String }
            let proposed: Proposed?
        }
        let kind: String
        let facts: Facts
    }
    let data: Question
}

struct Answer: ResponseEncodable {
    let answer: String
    var note: String?
}

let environment = ProcessInfo.processInfo.environment
let key = Data(base64Encoded: String(environment["WEBHOOK_SECRET"]?.trimmingPrefix("whsec_") ?? "")) ?? Data()
let trusted = environment["TRUSTED"] ?? "https://example.com/"

/// Whether a message is signed with the endpoint's secret, and sent within the last five minutes.
func isValid(_ body: Data, _ headers: HTTPFields) -> Bool {
    func field(_ name: String) -> String { HTTPField.Name(name).flatMap { headers[$0] } ?? "" }
    let signed = Data("\(field("webhook-id")).\(field("webhook-timestamp")).".utf8) + body
    let isSigned = field("webhook-signature").split(separator: " ").contains { signature in
        guard let code = Data(base64Encoded: String(signature.trimmingPrefix("v1,"))) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: SymmetricKey(data: key))
    }
    let age = Date().timeIntervalSince1970 - (Double(field("webhook-timestamp")) ?? 0)
    return isSigned && abs(age) <= 300
}

let router = Router()
router.post("/") { request, _ -> Answer in
    let body = Data(try await request.body.collect(upTo: 1 << 20).readableBytesView)
    guard isValid(body, request.headers) else { throw HTTPError(.unauthorized) }
    let question = try JSONDecoder().decode(Message.self, from: body).data
    guard question.kind == "willPerformHTTPRedirection", let next = question.facts.proposed?.url else {
        return Answer(answer: "performDefaultHandling")
    }
    return Answer(answer: next.hasPrefix(trusted) ? "follow" : "cancel", note: "by its place")
}
let port = environment["PORT"].flatMap { Int($0) } ?? 8000
try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port))).runService()
