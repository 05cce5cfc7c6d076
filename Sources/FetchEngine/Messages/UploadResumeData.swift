public import HTTPTypes

/// The data from which a stopped upload continues, in this process or in another one.
///
/// Only servers that speak the ``UploadProtocol`` give it, to tasks whose configuration has
/// ``SessionConfiguration/resumesUploads``. It does not hold the content: the caller gives it again.
public struct UploadResumeData: Sendable, Hashable {
    /// The URL that the upload was for, without credentials.
    public var url: URLRecord
    /// Where the server keeps the received part; any client that knows this URL may add to it.
    public var uploadURL: URLRecord
    /// The method of the upload.
    public var method: HTTPRequest.Method
    /// The protocol by which the server keeps it.
    public var uploadProtocol: UploadProtocol

    init(request: Request, uploadURL: URLRecord, by uploadProtocol: UploadProtocol = .draft) {
        url = request.url.withoutCredentials()
        method = request.method
        self.uploadURL = uploadURL
        self.uploadProtocol = uploadProtocol
    }
}

extension UploadResumeData {
    static let magic = Array("FUPL".utf8)
    /// The byte behind those: the version of the form, and with it the protocol.
    private static let versions: [UploadProtocol: UInt8] = [.draft: 1, .tus: 2]

    /// The data as bytes, to store.
    public var bytes: [UInt8] {
        var writer = ByteWriter()
        for text in ["\(url)", "\(uploadURL)", method.rawValue] { writer.append(text) }
        let content = Self.magic + [Self.versions[uploadProtocol] ?? 1] + writer.bytes
        return content + ContentDigest.sha256.digest(of: content)
    }

    /// Reads stored bytes.
    ///
    /// - Throws: `cannotDecodeRawData` when they are damaged, or of a version this library does not know.
    public init(bytes: [UInt8]) throws(LoadError) {
        let unreadable = LoadError(.cannotDecodeRawData, "The resume data is damaged or of another version.")
        let content = bytes.dropLast(ContentDigest.sha256.byteCount)
        guard content.starts(with: Self.magic),
            ContentDigest.sha256.digest(of: content).elementsEqual(bytes[content.endIndex...])
        else { throw unreadable }
        let version = content.dropFirst(Self.magic.count).first
        var reader = ByteReader(content.dropFirst(Self.magic.count + 1))
        guard let uploadProtocol = Self.versions.first(where: { $0.value == version })?.key,
            let texts = try? [reader.text(), reader.text(), reader.text()], reader.isAtEnd,
            let url = try? URLRecord(texts[0]), let uploadURL = try? URLRecord(texts[1]),
            let method = HTTPRequest.Method(texts[2])
        else { throw unreadable }
        (self.url, self.uploadURL, self.method) = (url, uploadURL, method)
        self.uploadProtocol = uploadProtocol
    }
}
