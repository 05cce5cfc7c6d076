import CZlib
import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import Synchronization

/// Compresses lists, documents and pages for clients that take gzip (RFC 9110 §8.4).
///
/// Who sees how long compressed answers are, and has a say in what is in them, finds out a secret in the same answer
/// (BREACH). So only what ``paths`` names is compressed, and nothing else by accident: answers that have no secrets, and
/// nothing of an origin's. A job has what its client wrote beside what origins sent, so it goes as it is, like bodies,
/// cookies, questions, cached answers and deliveries. The one secret of the pages named here, the token of their forms,
/// is another text each time (``SessionCookie/formToken(_:)``).
enum ContentCoding {
    /// The routes for GET whose answers are compressed.
    static let paths: Set = [
        "/v1/jobs", "/v1/groups", "/v1/schedules", "/v1/sessions", "/v1/hosts", "/v1/flows", "/v1/stats",
        "/v1/protocols", "/v1/webhooks/endpoints", "/v1/webhooks/deliveries", "/v1/keys", "/v1/audit",
        "/v1/admin/tenants",
        "/v1/admin/keys", "/v1/admin/audit", "/v1/admin/protocols",
        "/docs", "/docs/docs.js", "/docs/tags/{tag}", "/docs/operations/{operationId}", "/docs/schemas/{schema}",
        "/docs/problems", "/docs/problems/{code}", "/docs/errors", "/docs/errors/{name}", "/openapi.yaml",
        "/openapi.json", "/metrics",
        "/dashboard", "/dashboard/style.css", "/dashboard/app.js", "/dashboard/link.js", "/dashboard/jobs",
        "/dashboard/groups", "/dashboard/schedules", "/dashboard/hosts", "/dashboard/flows", "/dashboard/sessions",
        "/dashboard/webhooks", "/dashboard/webhooks/deliveries", "/dashboard/nodes", "/dashboard/tenants",
        "/dashboard/usage", "/dashboard/system", "/dashboard/keys", "/dashboard/audit",
    ]
    /// Shorter ones fit into a packet anyway.
    static let minimumBytes = 1024
    static let maximumBytes = 4 << 20
    /// What the loop of a connection compresses itself, which takes it a millisecond or two.
    private static let maximumBytesOnLoop = 64 * 1024
    /// Nearly all that can be gained from text, for half of the time.
    private static let level: Int32 = 4

    /// Compressed documents by their tags, which are the same for everyone.
    private static let known = Mutex(Recent<String, ByteBuffer>(lifetime: .seconds(3600), capacity: 256))

    /// The response as the client of a request takes it.
    static func encode(_ response: Response, for request: Request, of route: Route) async throws -> Response {
        guard route.method == .get, paths.contains(route.path), response.isWritten,
            response.status == .ok || response.status == .notModified
        else { return response }
        var response = response
        // Lists that are also there in lines depend on more.
        response.headers[.vary] = (response.headers[.vary].map { "\($0), " } ?? "") + "Accept-Encoding"
        guard let length = response.body.contentLength, (minimumBytes...maximumBytes).contains(length),
            accepts(request.headers), let bytes = try await compressed(response)
        else { return response }
        response.body = ResponseBody(byteBuffer: bytes)
        response.headers[.contentEncoding] = "gzip"
        // It stands for both forms now (§8.8.3.3).
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { response.headers[.eTag] = "W/\(tag)" }
        return response
    }

    /// Whether the client takes gzip, and would not rather have no coding (§12.5.3); one that says nothing gets none.
    static func accepts(_ headers: HTTPFields) -> Bool {
        var weights: [String: Double] = [:]
        for element in headers[values: .acceptEncoding].flatMap({ $0.split(separator: ",") }) {
            let parts = element.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            guard let coding = parts.first else { continue }
            weights[coding == "x-gzip" ? "gzip" : coding] = weight(parts.dropFirst().first)
        }
        let gzip = weights["gzip"] ?? weights["*"] ?? 0
        return gzip > 0 && gzip >= weights["identity"] ?? 0
    }

    /// The weight that a parameter states; none for one that is none, as with other faults of a field that only asks.
    private static func weight(_ parameter: String?) -> Double {
        guard let parameter else { return 1 }
        guard parameter.hasPrefix("q="), let weight = Double(parameter.dropFirst(2)), (0...1).contains(weight) else {
            return 0
        }
        return weight
    }

    // MARK: Bytes

    /// The body in gzip; nil when there is no memory for it.
    private static func compressed(_ response: Response) async throws -> ByteBuffer? {
        // A strong tag is that of a document.
        let tag = response.headers[.eTag].flatMap { $0.hasPrefix("W/") ? nil : $0 }
        if let tag, let bytes = known.withLock({ $0[tag, .now] }) { return bytes }
        let plain = try await response.wholeBody()
        let bytes =
            if plain.readableBytes <= maximumBytesOnLoop { gzip(plain) } else {
                try await NIOThreadPool.singleton.runIfActive { gzip(plain) }
            }
        if let tag, let bytes { known.withLock { $0.note(tag, bytes, .now) } }
        return bytes
    }

    /// The bytes as one member (RFC 1952).
    static func gzip(_ bytes: ByteBuffer) -> ByteBuffer? {
        // On the heap: zlib's state points back at it.
        let zlib = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        zlib.initialize(to: z_stream())
        defer { zlib.deallocate() }
        // The largest window, and 16 for the wrapper.
        let status = deflateInit2_(
            zlib, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { return nil }
        defer { deflateEnd(zlib) }
        let bound = Int(deflateBound(zlib, UInt(bytes.readableBytes)))
        var output = ByteBufferAllocator().buffer(capacity: bound)
        var end = Z_OK
        bytes.withUnsafeReadableBytes { source in
            _ = output.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { target in
                // zlib only reads its input, although its type is mutable.
                zlib.pointee.next_in = UnsafeMutablePointer(mutating: source.bindMemory(to: UInt8.self).baseAddress)
                zlib.pointee.avail_in = UInt32(source.count)
                zlib.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
                zlib.pointee.avail_out = UInt32(target.count)
                end = deflate(zlib, Z_FINISH)
                return target.count - Int(zlib.pointee.avail_out)
            }
        }
        return end == Z_STREAM_END ? output : nil
    }
}
