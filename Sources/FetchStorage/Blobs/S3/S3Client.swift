import FetchEngine
import FetchJobs
import HTTPTypes

/// The requests of a store that speaks S3, over our own engine.
struct S3Client: Sendable {
    private static let tries = 4
    private static let backoff = RetryPolicy.Backoff(initial: .milliseconds(400), factor: 4)

    let configuration: S3BlobStore.Configuration
    let session: Session
    private let signature: SignatureV4

    init(_ configuration: S3BlobStore.Configuration, session: Session) {
        self.configuration = configuration
        self.session = session
        signature = SignatureV4(
            credentials: SignatureV4.Credentials(
                accessKeyID: configuration.accessKeyID, secretAccessKey: configuration.secretAccessKey,
                sessionToken: nil),
            region: configuration.region,
            service: "s3"
        )
    }

    struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Sends a request, again when the store cannot be reached or is not well: each of them may be repeated.
    func send(
        _ method: HTTPRequest.Method,
        _ key: String,
        _ query: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async throws(StoreError) -> Answer {
        var failure: StoreError?
        for number in 0..<Self.tries {
            if number > 0 {
                try? await Task.sleep(for: Self.backoff.wait(after: number - 1, random: .random(in: 0...1)))
            }
            do {
                let request = try request(method, key, query, body: body, headers: [:])
                let (bytes, response) = try await session.data(for: request)
                let answer = Answer(status: response.status.code, headers: response.headerFields, body: bytes)
                if answer.status < 500 { return try Self.checked(answer) }
                failure = Self.failure(answer.status)
            } catch let error as StoreError {
                throw error
            } catch {
                failure = StoreError(.blob, "The blob store cannot be reached.", underlying: error)
            }
        }
        throw failure ?? Self.failure(500)
    }

    /// The bytes of an object from one offset to another, as they come.
    func read(_ key: String, _ range: Range<Int64>) async throws(StoreError) -> ResponseBody {
        do {
            let request = try request(.get, key, [], body: [], headers: [.range: ByteRange.field(range)])
            let (body, response) = try await session.bytes(for: request)
            guard response.status.code == 206 else { throw Self.failure(response.status.code) }
            return body
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.blob, "The blob store cannot be reached.", underlying: error)
        }
    }

    private func request(
        _ method: HTTPRequest.Method,
        _ key: String,
        _ query: [(name: String, value: String)],
        body: [UInt8],
        headers: HTTPFields
    ) throws -> Request {
        let text = query.map { "\(PercentCodec.component($0.name))=\(PercentCodec.component($0.value))" }
        let path = "/\(configuration.bucket)" + (key.isEmpty ? "" : "/\(configuration.prefix)\(key)")
        let url = try URLRecord(
            configuration.origin + path + (text.isEmpty ? "" : "?" + text.joined(separator: "&")))
        var request = Request(
            url: url, method: method, headerFields: headers,
            body: method == .put || method == .post ? .bytes(body) : nil)
        try signature.sign(&request, at: .now)
        return request
    }

    private static func checked(_ answer: Answer) throws(StoreError) -> Answer {
        guard (200..<300).contains(answer.status) else { throw failure(answer.status) }
        return answer
    }

    private static func failure(_ status: Int) -> StoreError {
        switch status {
        case 404: StoreError(.blobGone, "There is no such blob any more.")
        case 507: StoreError(.full, "The blob store has no room left.")
        default: StoreError(.blob, "The blob store answers with the status \(status).")
        }
    }
}
