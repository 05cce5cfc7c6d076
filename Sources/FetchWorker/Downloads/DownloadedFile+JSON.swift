import FetchEngine
import FetchJobs

extension DownloadedFile {
    /// Writes the members of a job for its file.
    func write(
        _ writer: inout JSONWriter, blob: Blob, filename: String, resourceFork: Blob.ID?
    ) {
        writer.member("blob", blob.id.description)
        writer.member("filename", filename)
        writer.member("expiresAt", blob.expiresAt?.description)
        writer.member("decodedFrom", decodedMediaType)
        writer.member("resourceFork", resourceFork?.description)
        guard attributes.type != nil || attributes.creator != nil else { return }
        writer.member(
            "macintosh",
            object: { writer in
                writer.member("type", attributes.type)
                writer.member("creator", attributes.creator)
                writer.member("finderFlags", attributes.finderFlags)
                writer.member("created", attributes.created.map { Timestamp(seconds: $0).description })
                writer.member("modified", attributes.modified.map { Timestamp(seconds: $0).description })
            }
        )
    }
}

extension Timestamp {
    fileprivate init(seconds: Int64) { self.init(microseconds: seconds * 1_000_000) }
}

extension Configuration.Response.Format {
    var decoder: any BodyDecoder.Type {
        switch self {
        case .gzip: GzipDecoder.self
        case .macBinary: MacBinaryDecoder.self
        case .binHex: BinHexDecoder.self
        }
    }
}
