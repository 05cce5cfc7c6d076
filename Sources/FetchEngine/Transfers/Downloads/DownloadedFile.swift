import Glibc
import Synchronization

/// The file of a download that is complete.
///
/// A temporary file is removed with the last reference to this value, unless it was moved: keep the value, open the
/// file or move it.
public final class DownloadedFile: Sendable {
    /// The response that the file is the body of.
    public let response: Response
    /// How many bytes the file has.
    public let byteCount: Int64
    /// A safe name for the file: of the server, or of the file inside when it was decoded.
    public let suggestedFilename: String
    /// The type that the file was decoded from, such as `application/x-gzip`; `nil` when it was not decoded.
    public let decodedMediaType: String?
    /// The attributes of a decoded file beside its content, such as a resource fork.
    public let attributes: DecodedAttributes
    /// The SHA-256 of the file; `nil` unless ``DownloadOptions/hashesFile`` is set, and when an earlier download has left
    /// the beginning of the file.
    public let sha256: [UInt8]?
    private let place: Mutex<(path: String, isTemporary: Bool)>

    init(
        path: String, isTemporary: Bool, byteCount: Int64, sha256: [UInt8]?, plan: DownloadPlan,
        attributes: DecodedAttributes
    ) {
        response = plan.response
        suggestedFilename = plan.filename.text
        decodedMediaType = plan.decoder?.mediaTypes.first
        self.byteCount = byteCount
        self.sha256 = sha256
        self.attributes = attributes
        place = Mutex((path, isTemporary))
    }

    deinit {
        let (path, isTemporary) = place.withLock { $0 }
        if isTemporary { unlink(path) }
    }

    /// Where the file is.
    public var path: String { place.withLock { $0.path } }

    /// Whether the file is removed with this value.
    public var isTemporary: Bool { place.withLock { $0.isTemporary } }

    /// Moves the file, durably and in one step, so that it stays; blocks on the disk.
    ///
    /// - Returns: The path it got: numbered when the name was taken and may not be overwritten.
    /// - Throws: `cannotCreateFile`, `cannotMoveFile`, `cannotWriteToFile` or `fileIsDirectory`.
    @discardableResult
    public func move(to destination: DownloadDestination) throws(LoadError) -> String {
        let reserved = try ReservedDestination(destination)
        do throws(LoadError) {
            try reserved.fill(withFileAt: path)
        } catch {
            try reserved.release()
            throw error
        }
        place.withLock { $0 = (reserved.path, false) }
        return reserved.path
    }
}
