import FetchEngine
import FetchJobs
import HTTPTypes

/// The requests of a store that speaks S3, over our own engine.
struct S3Client: Sendable {
    private static let tries = 4
    /// Lists name a thousand objects at most.
    private static let longestAnswer = 16 << 20
    private static let longestError = 64 << 10
    /// In seconds.
    private static let lifeOfURLs = 60
    private static let backoff = RetryPolicy.Backoff(initial: .milliseconds(400), factor: 4)

    let configuration: S3BlobStore.Configuration
    let session: Session
    private let keys: S3Keys

    init(_ configuration: S3BlobStore.Configuration, session: Session) {
        self.configuration = configuration
        self.session = session
        switch configuration.keys {
        case .fixed(let credentials): keys = S3Keys(credentials)
        case .environment(let variables):
            let environment = AWSEnvironment(variables: variables, region: configuration.region, session: session)
            keys = S3Keys { () throws(StoreError) in try await environment.find() }
        }
    }

    /// The fields of a request that makes an object.
    var newObject: HTTPFields { configuration.encryption?.fields ?? [:] }

    /// What a request sends.
    enum Content: Sendable {
        case bytes([UInt8])
        /// A file, whose SHA-256 is known.
        case file(String, digest: [UInt8])
    }

    struct Answer {
        let headers: HTTPFields
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Sends a request, and reads the whole answer.
    func send(
        _ method: HTTPRequest.Method,
        _ key: String,
        _ query: [(name: String, value: String)] = [],
        body: Content = .bytes([]),
        headers: HTTPFields = [:],
        tries: Int = Self.tries
    ) async throws(StoreError) -> Answer {
        try await repeating(tries) { () async throws in
            let request = try await request(method, key, query, body: body, headers: headers)
            let (body, response) = try await answer(to: request)
            return Answer(
                headers: response.headerFields, body: try await Self.bytes(of: body, upTo: Self.longestAnswer))
        }
    }

    /// The bytes of an object from one offset to another, as they come.
    func read(_ key: String, _ range: Range<Int64>) async throws(StoreError) -> ResponseBody {
        try await repeating(Self.tries) { () async throws in
            let request = try await request(.get, key, [], headers: [.range: ByteRange.field(range)])
            let (body, response) = try await answer(to: request)
            guard response.status.code == 206 else {
                throw StoreError(.blob, "The object store answers with a whole object where a part was asked for.")
            }
            return body
        }
    }

    /// A URL that whoever has it may GET; the request must begin within a minute, and may then take as long as it does.
    func presignedURL(of key: String, _ query: [(name: String, value: String)]) async throws(StoreError) -> URLRecord {
        let signature = try await signature()
        do {
            let origin = configuration.publicOrigin ?? configuration.origin
            return try signature.presigned(try url(of: key, query, at: origin), at: .now, for: Self.lifeOfURLs)
        } catch { throw StoreError(.blob, "The object cannot be named by a URL.", underlying: error) }
    }

    private func signature() async throws(StoreError) -> SignatureV4 {
        SignatureV4(credentials: try await keys.current(), region: configuration.region, service: "s3")
    }

    private func url(
        of key: String, _ query: [(name: String, value: String)], at origin: String
    ) throws -> URLRecord {
        let text = query.map { "\(PercentCodec.component($0.name))=\(PercentCodec.component($0.value))" }
        return try URLRecord(
            configuration.bucketURL(at: origin) + (key.isEmpty ? "" : "\(configuration.prefix)\(key)")
                + (text.isEmpty ? "" : "?" + text.joined(separator: "&")))
    }

    /// Asks again when the store cannot be reached or is not well: each request may be repeated.
    private nonisolated(nonsending) func repeating<Value>(
        _ tries: Int, _ ask: nonisolated(nonsending) () async throws -> Value
    ) async throws(StoreError) -> Value {
        var (number, hasNewKeys) = (0, false)
        while true {
            let failure: StoreError
            do { return try await ask() } catch let error as StoreError {
                throw error
            } catch let refusal as Refusal {
                guard keys.mayChange, !hasNewKeys else { throw refusal.error }
                hasNewKeys = true
                await keys.forget()
                continue
            } catch let error as Unwell {
                failure = StoreError(.blobAway, "The object store answers with the status \(error.status).")
            } catch {
                failure = StoreError(.blobAway, "The object store cannot be reached.", underlying: error)
            }
            number += 1
            guard number < tries else { throw failure }
            // Cancelled with its caller, who has no use for another try.
            do { try await Task.sleep(for: Self.backoff.wait(after: number - 1, random: .random(in: 0...1))) } catch {
                throw failure
            }
        }
    }

    /// Whether the store serves this service; asked once.
    func examine() async -> S3BlobStore.Health {
        do {
            var request = try await request(
                .get, "", [(name: "list-type", value: "2"), (name: "max-keys", value: "1")], headers: [:])
            request.timeoutInterval = .seconds(5)
            let (body, _) = try await answer(to: request)
            _ = try await Self.bytes(of: body, upTo: Self.longestAnswer)
            return .good
        } catch let error as StoreError {
            return .refused(error.message)
        } catch let refusal as Refusal {
            await keys.forget()
            return .refused(refusal.error.message)
        } catch {
            return .away
        }
    }

    /// An answer that is about the keys.
    private struct Refusal: Error {
        let error: StoreError
    }

    /// An answer that may be another one the next time.
    private struct Unwell: Error {
        let status: Int
    }

    private nonisolated(nonsending) func answer(to request: Request) async throws -> (ResponseBody, Response) {
        let (body, response) = try await session.bytes(for: request)
        let status = response.status.code
        guard !(200..<300).contains(status) else { return (body, response) }
        let text = String(decoding: try await Self.bytes(of: body, upTo: Self.longestError), as: UTF8.self)
        throw Self.failure(status, XMLText(text).texts(of: "Code").first, isHead: request.method == .head)
    }

    /// - Throws: When there are more.
    private nonisolated(nonsending) static func bytes(of body: ResponseBody, upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in body {
            bytes += chunk
            guard bytes.count <= limit else {
                throw StoreError(.blob, "The object store answers with more than \(limit) bytes.")
            }
        }
        return bytes
    }

    private func request(
        _ method: HTTPRequest.Method,
        _ key: String,
        _ query: [(name: String, value: String)],
        body: Content = .bytes([]),
        headers: HTTPFields
    ) async throws -> Request {
        let (content, digest): (RequestBody, [UInt8]?) =
            switch body {
            case .bytes(let bytes): (.bytes(bytes), nil)
            case .file(let path, let digest): (.file(path: path), digest)
            }
        var request = Request(
            url: try url(of: key, query, at: configuration.origin), method: method, headerFields: headers,
            body: method == .put || method == .post ? content : nil)
        try await signature().sign(&request, at: .now, digest: digest)
        return request
    }

    /// What an answer means: only what the store says of the object itself is about the object.
    ///
    /// - Parameter code: The store's word for it; an answer to HEAD has none.
    private static func failure(_ status: Int, _ code: String?, isHead: Bool) -> any Error {
        switch (status, code) {
        case (404, "NoSuchKey"), (404, "NoSuchUpload"),
            (404, nil) where isHead:
            StoreError(.blobGone, "There is no such blob any more.")
        case (404, "NoSuchBucket"): StoreError(.blobAway, "The object store has no such bucket.")
        case (404, _): StoreError(.blobAway, "What answers in place of the object store does not know the object.")
        // A HEAD that is signed wrongly is refused with 400 and no word.
        case (401, _), (403, _), (400, "ExpiredToken"), (400, "InvalidToken"),
            (400, nil) where isHead:
            Refusal(
                error: StoreError(.blobAway, "The object store refuses the service: \(code.map(plain) ?? "\(status)").")
            )
        case (507, _): StoreError(.full, "The object store has no room left.")
        case (429, _), (500..., _), (400, "RequestTimeout"), (409, "OperationAborted"): Unwell(status: status)
        default:
            StoreError(
                .blob, "The object store answers with the status \(status)\(code.map { ", \(plain($0))" } ?? "").")
        }
    }

    /// A word of the store, as far as it is one.
    private static func plain(_ code: String) -> String {
        String(code.prefix(64).filter { $0.isASCII && $0.isLetter })
    }
}

extension S3BlobStore.Configuration {
    /// What the keys of objects are put behind.
    fileprivate func bucketURL(at origin: String) -> String {
        guard namesBucketByHost, let scheme = origin.firstRange(of: "://") else { return "\(origin)/\(bucket)/" }
        return "\(origin[..<scheme.upperBound])\(bucket).\(origin[scheme.upperBound...])/"
    }
}
