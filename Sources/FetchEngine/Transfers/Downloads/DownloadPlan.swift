/// The decisions about a download before its first byte is written.
struct DownloadPlan: Sendable {
    let response: Response
    /// The file's name, after decoding.
    var filename: Filename
    var decoder: (any BodyDecoder.Type)?
    var destination: DownloadDestination?
    /// The file that is continued, and where.
    var resumed: ResumeData?
    /// How many bytes the file will have; nil when that is unknown.
    var expectedCount: Int64?
    var expectedDigest: ExpectedDigest?
    /// Whether the SHA-256 of the file is taken while it is written.
    var hashesFile = false
    var temporaryDirectory: String
    var decodingLimits: DecodingLimits
    /// Whether the download can go on later.
    var resumability: Resumability
}
