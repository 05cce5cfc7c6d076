import FetchEngine
import Foundation
import HTTPTypes

/// The body of a job's response, over as many connections as it takes.
///
/// A job that runs is waited for. A connection that breaks is made anew, and the body goes on where it was. At the end
/// its SHA-256 is compared with the one that the service has. For one reader at a time; each begins at the beginning.
public struct JobBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = FetchdError

    let transport: Transport
    let job: String

    /// Starts to read.
    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    /// Reads chunk by chunk.
    public struct Iterator: AsyncIteratorProtocol {
        private let body: JobBody
        private var connection: ResponseBody.Iterator?
        /// How many bytes have come.
        private var offset: Int64 = 0
        /// How many bytes of this connection have come before.
        private var repeated: Int64 = 0
        private var tag: String?
        private var digest: [UInt8]?
        private let hash = ContentDigest.sha256.stream()
        private var (failures, missing) = (0, 0)
        private var isComplete = false

        init(body: JobBody) { self.body = body }

        /// The next chunk, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchdError) -> [UInt8]? {
            while !isComplete {
                do throws(FetchdError) {
                    if let chunk = try await chunk() { return chunk }
                } catch { try await recover(from: error) }
            }
            return nil
        }

        /// More bytes, or nil when there is nothing to give yet, or no more.
        private nonisolated(nonsending) mutating func chunk() async throws(FetchdError) -> [UInt8]? {
            if connection == nil { try await connect() }
            var bytes: [UInt8]?
            do throws(LoadError) { bytes = try await connection?.next(isolation: #isolation) } catch {
                throw FetchdError(error)
            }
            guard var bytes else {
                try await verify()
                return nil
            }
            let known = Swift.min(repeated, Int64(bytes.count))
            repeated -= known
            bytes.removeFirst(Int(known))
            guard !bytes.isEmpty else { return nil }
            offset += Int64(bytes.count)
            hash.append(bytes)
            failures = 0
            return bytes
        }

        private nonisolated(nonsending) mutating func connect() async throws(FetchdError) {
            var call = Call(.get, Call.path("jobs", body.job, "body"))
            call.headers[.acceptEncoding] = "identity"
            if offset > 0, let tag {
                call.headers[.range] = "bytes=\(offset)-"
                call.headers[.ifRange] = tag
            }
            let (stream, response) = try await body.transport.stream(call)
            let newTag = response.headerFields[.eTag]
            if offset > 0, let tag, newTag != tag {
                throw FetchdError(.contentDigestMismatch, "The body was replaced by another one meanwhile.")
            }
            tag = newTag
            digest = response.headerFields[.reprDigest].flatMap(Self.sha256) ?? digest
            // While a job runs its body comes from the start, whatever range was asked for.
            repeated = response.status == .ok ? offset : 0
            connection = stream.makeAsyncIterator()
        }

        private nonisolated(nonsending) mutating func recover(from error: FetchdError) async throws(FetchdError) {
            connection = nil
            switch error.status {
            case 416 where offset > 0: try await verify()
            case 409 where error.code == .jobNotFinal: try await waitForBody()
            // As a download ends its file is in neither place for an instant.
            case 404 where missing < Transport.repeats:
                missing += 1
                try await waitForBody()
                try await pause(.backoff(0))
            default:
                guard error.isRetryable, failures < Transport.repeats else { throw error }
                failures += 1
                try await pause(error.retryAfter ?? .backoff(failures))
            }
        }

        /// - Throws: `jobFailed` when there will be none.
        private nonisolated(nonsending) func waitForBody() async throws(FetchdError) {
            let job = try await Jobs(transport: body.transport).get(body.job, wait: .seconds(1))
            guard job.state != .failed, job.state != .cancelled else { throw FetchdError(failed: job) }
        }

        private nonisolated(nonsending) mutating func verify() async throws(FetchdError) {
            if digest == nil {
                // The job was running when its body began, so that nobody knew.
                let job = try await Jobs(transport: body.transport).result(body.job)
                digest = job.body.flatMap { Self.sha256(in: $0.digest) }
            }
            guard digest == nil || digest == hash.finish() else {
                throw FetchdError(.contentDigestMismatch, "The body is not the one that the service has.")
            }
            isComplete = true
        }

        /// The SHA-256 in a digest as RFC 9530 writes it.
        private static func sha256(in field: String) -> [UInt8]? {
            guard let found = field.firstMatch(of: /(?:^|[\s,])sha-256=:([A-Za-z0-9+\/=]+):/) else { return nil }
            return Data(base64Encoded: String(found.output.1)).map { Array($0) }
        }
    }
}
