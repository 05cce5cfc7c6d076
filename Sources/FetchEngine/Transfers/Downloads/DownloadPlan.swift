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
    var temporaryDirectory: String
    var decodingLimits: DecodingLimits
    /// Whether the download can go on later.
    var resumability: Resumability
}
