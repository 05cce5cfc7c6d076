import Crypto
import FetchJobs
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// The request by which a connection becomes a WebSocket (RFC 6455 §4.2).
struct WebSocketHandshake {
    static let version = "13"
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    private let key: String

    /// Whether a request asks for that; one that does not is an ordinary one.
    static func isAsked(by call: Call) -> Bool {
        call.request.method == .get && has("websocket", in: call.headers[values: .upgrade])
            && has("upgrade", in: call.headers[values: .connection])
    }

    private static func has(_ word: String, in values: [String]) -> Bool {
        values.contains { value in
            value.split(separator: ",").contains {
                $0.trimmingWhiteSpace.lowercased() == word
            }
        }
    }

    /// - Throws: ``Problem`` for a handshake that is none of this protocol's version.
    init(_ call: Call) throws(Problem) {
        guard call.headers[values: .secWebSocketVersion] == [Self.version] else {
            var problem = Problem(.malformedRequest, "Sec-WebSocket-Version must be \(Self.version) (RFC 6455).")
            problem.headers[.secWebSocketVersion] = Self.version
            throw problem
        }
        let keys = call.headers[values: .secWebSocketKey]
        guard keys.count == 1, let key = keys.first, Data(base64Encoded: key)?.count == 16 else {
            throw Problem(.malformedRequest, "Sec-WebSocket-Key must be 16 bytes in base64 (RFC 6455).")
        }
        self.key = key
    }

    /// The fields of the answer.
    var fields: HTTPFields {
        let digest = Insecure.SHA1.hash(data: Data((key + Self.suffix).utf8))
        return [
            .connection: "Upgrade", .upgrade: "websocket", .secWebSocketAccept: Data(digest).base64EncodedString(),
        ]
    }
}
