import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes
import Synchronization

/// Keeps a body whose parts replace one another: the last part, or all of them one after the other (MPR-1).
struct PartSpool {
    typealias Keeping = FetchJobs.Configuration.Response.MultipartReplace

    /// More parts than that fail the job, where all are kept.
    static let maximumParts = 1000
    /// The same of the fields of kept parts, each counted as RFC 9113 §6.5.2 does: kilobytes of a compressed body may be
    /// millions of them.
    static let maximumFieldBytes = 256 * 1024

    private let whole: Response
    private let keeping: Keeping
    private let blobs: (any BlobStore)?
    private let take: @Sendable (Int) -> Bool
    private let live: LiveJob
    private let progress: PartProgress
    /// The decisions about each part, and the request for the parts.
    var deciding: (decisions: JobDecisions, request: Request)?
    private var parser: MultipartParser
    private var writer: BodyWriter
    private var parts: [ReplacedParts.Part] = []
    private var fieldBytes = 0
    private var count = 0

    init(
        of whole: Response,
        _ boundary: MultipartBoundary,
        keeping: Keeping,
        in blobs: (any BlobStore)?,
        taking take: @escaping @Sendable (Int) -> Bool,
        _ live: LiveJob,
        _ progress: PartProgress
    ) {
        self.whole = whole
        self.keeping = keeping
        self.blobs = blobs
        self.take = take
        self.live = live
        self.progress = progress
        parser = MultipartParser(boundary)
        writer = BodyWriter(in: blobs, taking: take)
    }

    nonisolated(nonsending) mutating func append(_ bytes: [UInt8]) async throws(LoadError) {
        parser.append(bytes)
        while let event = try parser.next() {
            try await take(event)
            if parser.endsTurn() { await Task.yield() }
        }
    }

    /// The parts that are kept, and their bytes.
    nonisolated(nonsending) mutating func finish() async throws(LoadError) -> ReplacedParts {
        for event in parser.finish() { try await take(event) }
        let body = try await writer.finish()
        return ReplacedParts(whole: whole, keeping: keeping, parts: parts, body: body)
    }

    nonisolated(nonsending) func abandon() async { await writer.abandon() }

    private nonisolated(nonsending) mutating func take(_ event: MultipartParser.Event) async throws(LoadError) {
        switch event {
        case .head(let fields): try await begin(whole.part(fields))
        case .data(let bytes):
            try await writer.append(bytes)
            parts[parts.count - 1].bytes += Int64(bytes.count)
            progress.add(bytes.count)
        case .end: break
        }
    }

    private nonisolated(nonsending) mutating func begin(_ part: Response) async throws(LoadError) {
        count += 1
        if keeping == .last {
            await writer.abandon()
            writer = BodyWriter(in: blobs, taking: take)
            parts = []
            fieldBytes = 0
        }
        guard parts.count < Self.maximumParts else {
            throw LoadError(.dataLengthExceedsMaximum, "The answer has more than \(Self.maximumParts) parts.")
        }
        fieldBytes += part.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 32 }
        guard fieldBytes <= Self.maximumFieldBytes else {
            throw LoadError(
                .dataLengthExceedsMaximum,
                "The parts of the answer have more than \(Self.maximumFieldBytes) bytes of fields.")
        }
        if let (decisions, request) = deciding,
            await decisions.answer(.response(part, part: count), about: request) == .cancel
        {
            throw LoadError(.cancelled, "The response was answered with cancel.")
        }
        parts.append(ReplacedParts.Part(number: count, response: part, offset: writer.count))
        let number = count
        live.note(.response) { [urls = live.urls] writer in
            part.writeWithoutSecrets(&writer, urls)
            writer.member("part", number)
        }
        progress.begin(number, part)
    }
}

/// How far the part is that comes: each is counted anew (MPR-4).
final class PartProgress: Sendable {
    private struct Part {
        let number: Int
        let expected: Int64?
        var received: Int64 = 0
    }

    private let part = Mutex<Part?>(nil)

    func begin(_ number: Int, _ response: Response) {
        part.withLock { $0 = Part(number: number, expected: response.expectedContentLength) }
    }

    func add(_ count: Int) { part.withLock { $0?.received += Int64(count) } }

    /// The progress of a task as that of its part, once there is one.
    func ofPart(_ progress: JobProgress) -> JobProgress {
        guard let part = part.withLock({ $0 }) else { return progress }
        var progress = progress
        progress.part = part.number
        progress.bytesReceived = part.received
        progress.bytesExpectedToReceive = part.expected
        // Nobody knows how many parts follow.
        progress.timeRemaining = nil
        return progress
    }
}

/// The kept parts of a body whose parts replace one another.
struct ReplacedParts {
    struct Part {
        /// Counts from 1.
        let number: Int
        let response: Response
        /// The offset of its first byte in the kept body.
        let offset: Int64
        var bytes: Int64 = 0
    }

    let whole: Response
    let keeping: PartSpool.Keeping
    let parts: [Part]
    let body: JobOutcome.Body?

    /// Of the last part when that is all that is kept, else of the whole.
    var response: Response { keeping == .last ? parts.last?.response ?? whole : whole }

    /// Writes the response of the job.
    func write(_ writer: inout JSONWriter, _ urls: URLForm) {
        response.writeWithoutSecrets(&writer, urls)
        switch keeping {
        case .last: writer.member("part", parts.last?.number)
        case .all:
            writer.member("parts", array: { writer in for part in parts { writer.object { part.write(&$0, urls) } } })
        }
    }
}

extension ReplacedParts.Part {
    fileprivate func write(_ writer: inout JSONWriter, _ urls: URLForm) {
        writer.member("part", number)
        response.writeFields(&writer, urls)
        writer.member("mimeType", response.mimeType)
        writer.member("offset", offset)
        writer.member("bytes", bytes)
    }
}

/// A body on its way to be kept: in memory while it is small enough for a row, from then on in the blob store.
struct BodyWriter {
    private let blobs: (any BlobStore)?
    private let take: @Sendable (Int) -> Bool
    private var bytes: [UInt8] = []
    private var draft: BlobDraft?
    private(set) var count: Int64 = 0

    /// - Parameters:
    ///   - blobs: Nil to keep everything in memory.
    ///   - take: Takes memory for so many more bytes there; false when there is none.
    init(in blobs: (any BlobStore)?, taking take: @escaping @Sendable (Int) -> Bool) {
        self.blobs = blobs
        self.take = take
    }

    nonisolated(nonsending) mutating func append(_ chunk: [UInt8]) async throws(LoadError) {
        count += Int64(chunk.count)
        guard let blobs else {
            guard take(chunk.count) else {
                throw LoadError(.dataLengthExceedsMaximum, "The body has more bytes than memory has room for.")
            }
            return bytes += chunk
        }
        do throws(StoreError) {
            guard count > Int64(Blob.inlineLimit) else { return bytes += chunk }
            var draft = if let draft { draft } else { try await BlobDraft(in: blobs) }
            if !bytes.isEmpty { try await draft.append(bytes) }
            bytes = []
            try await draft.append(chunk)
            self.draft = draft
        } catch {
            throw LoadError(error)
        }
    }

    nonisolated(nonsending) func finish() async throws(LoadError) -> JobOutcome.Body? {
        guard let draft else { return bytes.isEmpty ? nil : .inline(bytes) }
        do throws(StoreError) { return .blob(try await draft.finish()) } catch { throw LoadError(error) }
    }

    nonisolated(nonsending) func abandon() async { await draft?.abandon() }
}
