/// How a download keeps its file.
public struct DownloadOptions: Sendable {
    /// Where the file goes; `nil` asks the delegate, and without an answer it stays a temporary file.
    public var destination: DownloadDestination?

    /// Whether the partial file of a failed or cancelled download is deleted even where it could be continued.
    ///
    /// `nil`, the default: deleted when there is a destination, kept when there is none and the server lets a
    /// download continue; the error then carries the resume data. A plain ``SessionTask/cancel()`` keeps it only
    /// for `false`.
    public var deletesFileUponFailure: Bool?

    /// The media types of files that are decoded without asking, such as `application/x-gzip`; none by default.
    ///
    /// For others the delegate is asked.
    public var decodedMediaTypes: Set<String> = []

    /// The decoders that there are.
    public var decoders: [any BodyDecoder.Type] = [GzipDecoder.self, BinHexDecoder.self, MacBinaryDecoder.self]

    /// The digest that the content must have; other content fails with `contentDigestMismatch`.
    ///
    /// `nil`, the default, leaves the check to ``SessionConfiguration/verifiesContentDigests``. The digest covers the
    /// bytes as they come, before a file is decoded and after HTTP's content coding is undone.
    public var expectedDigest: ExpectedDigest?

    /// Whether the SHA-256 of the file is taken while it is written, for ``DownloadedFile/sha256``; `false` by default.
    public var hashesFile = false

    /// Whether resume data of one URL is of use for another, where both are of the same file; `false` by default.
    ///
    /// A server that did not give the first bytes gives the rest when it names the same validator and the same length of
    /// the whole; otherwise the download starts from the beginning.
    public var resumesAcrossURLs = false

    /// Where temporary files are made; `/tmp` by default.
    ///
    /// A download with a destination makes its own beside it.
    public var temporaryDirectory = "/tmp"

    /// Makes the defaults.
    public init(destination: DownloadDestination? = nil) { self.destination = destination }
}
