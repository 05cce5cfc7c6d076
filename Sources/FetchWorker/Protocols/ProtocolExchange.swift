import FetchEngine
import FetchJobs
import HTTPTypes

/// One message to a registered protocol, and its reply as it comes.
///
/// Errors name no address: the owner of a load does not know where the protocol is.
final class ProtocolExchange {
    let message: ProtocolLoad
    private let task: DataTask
    private let reach: MessageReach?
    private var body: ResponseBody.Iterator?
    /// The bytes of the body that came with the envelope.
    private var rest: [UInt8] = []

    init(_ message: ProtocolLoad, with target: RegisteredProtocol, by protocols: RemoteProtocols) {
        self.message = message
        reach = protocols.reach
        let bytes = message.message
        var request = Request(url: target.url, method: .post, body: .bytes(bytes))
        request.headerFields = WebhookMessage(id: message.id.description, body: bytes)
            .headers(signedWith: target.secrets(at: message.at), at: message.at.seconds)
        task = protocols.session.dataTask(
            with: request, configuration: reach?.configuration(in: protocols.session, for: .service))
    }

    func cancel() { task.cancel() }

    /// The reply, as far as it is known before its body.
    nonisolated(nonsending) func reply() async throws(LoadError) -> ProtocolReply {
        let response: Response
        do throws(LoadError) { response = try await task.response() } catch {
            reach?.note(error, of: .service)
            throw Self.withoutAddress(error)
        }
        body = task.body.makeAsyncIterator()
        guard response.mimeType == ProtocolReply.envelopeType else {
            return try ProtocolReply(response, to: message.request, hasCached: message.cached != nil)
        }
        return try await envelope(of: response)
    }

    /// The next bytes of the body; nil at its end.
    nonisolated(nonsending) func nextBytes() async throws(LoadError) -> [UInt8]? {
        guard rest.isEmpty else {
            defer { rest = [] }
            return rest
        }
        do throws(LoadError) { return try await body?.next() } catch { throw Self.withoutAddress(error) }
    }

    // MARK: The envelope

    /// Reads the line before the body.
    private nonisolated(nonsending) func envelope(of response: Response) async throws(LoadError) -> ProtocolReply {
        guard response.status == .ok else {
            throw LoadError(
                .badServerResponse, "The protocol answered with an envelope and the status \(response.status.code).")
        }
        var line: [UInt8] = []
        while let bytes = try await nextBytes() {
            let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
            line += bytes[..<(end ?? bytes.endIndex)]
            guard line.count <= ProtocolReply.maximumEnvelope else {
                throw LoadError(
                    .badServerResponse,
                    "The envelope of the protocol has more than \(ProtocolReply.maximumEnvelope) bytes.")
            }
            guard let end else { continue }
            rest = Array(bytes[(end + 1)...])
            return try read(line, followedBy: response.expectedContentLength.map { $0 - Int64(line.count) - 1 })
        }
        return try read(line, followedBy: 0)
    }

    private func read(_ line: [UInt8], followedBy length: Int64?) throws(LoadError) -> ProtocolReply {
        do {
            return try ProtocolReply(
                envelope: try JSONParser.parse(line), to: message.request, followedBy: length)
        } catch let error as JSONParser.Failure {
            throw LoadError(
                .badServerResponse,
                "The envelope of the protocol is not JSON: \(error.message), at byte \(error.offset).")
        } catch let error as InvalidInput {
            let first = error.violations.first.map { "\($0.pointer.prefix(64)) \($0.message)" } ?? "it is none"
            throw LoadError(.badServerResponse, "The envelope of the protocol breaks a rule: \(first).")
        } catch {
            throw LoadError(.badServerResponse, "The envelope of the protocol cannot be read.")
        }
    }

    private static func withoutAddress(_ error: LoadError) -> LoadError {
        guard error.code != .cancelled else { return error }
        return LoadError(error.code, "The exchange with the protocol failed: \(error.code.name).")
    }
}
