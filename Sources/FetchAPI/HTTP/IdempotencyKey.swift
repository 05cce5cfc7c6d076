import FetchJobs
import HTTPTypes

/// The name of a request by its client, so that it counts once.
struct IdempotencyKey: Sendable, Equatable {
    private static let form = "1 to 128 visible ASCII characters"

    let text: String

    init?(of fields: HTTPFields) throws(Problem) {
        let values = fields[values: .idempotencyKey]
        guard let text = values.first else { return nil }
        guard values.count == 1, let key = Self(text) else {
            throw Problem(
                parameter: "Idempotency-Key", "must be \(Self.form), sent once", code: .invalidIdempotencyKey)
        }
        self = key
    }

    /// The key of one line.
    init?(reader: JSONReader) {
        guard let text = reader.string() else { return nil }
        guard let key = Self(text) else {
            reader.refuse("must be \(Self.form)")
            return nil
        }
        self = key
    }

    private init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// - Parameter line: Tells the jobs of a batch apart, when all have the same key.
    func idempotency(for spec: JobSpec, line: Int? = nil) -> Idempotency {
        var asked = spec
        // A repeat asks for the same delay, and not for the time that the first request came to.
        if spec.delay != nil { asked.runAt = nil }
        var submission = asked.json
        // What no spec keeps is asked for as well.
        if let delay = spec.delay { submission += Array("delay \(delay) ".utf8) }
        if spec.isSuspended { submission += Array("suspended".utf8) }
        return Idempotency(key: line.map { "\(text)/\($0)" } ?? text, fingerprint: SHA256Digest(of: submission))
    }

    func idempotency(for spec: JobGroupSpec) -> Idempotency {
        Idempotency(key: text, fingerprint: SHA256Digest(of: spec.json))
    }

    func idempotency(for spec: ScheduleSpec) -> Idempotency {
        Idempotency(key: text, fingerprint: SHA256Digest(of: spec.json))
    }

    /// The key with the fingerprint of a blob: its bytes and its type.
    func idempotency(for blob: Blob) -> Idempotency {
        let asked = blob.content.digest.bytes + Array((blob.contentType ?? "").utf8)
        return Idempotency(key: text, fingerprint: SHA256Digest(of: asked))
    }

    func idempotency(for spec: SessionSpec) -> Idempotency {
        Idempotency(key: text, fingerprint: SHA256Digest(of: JSONWriter.object(spec.write)))
    }
}
