package import FetchEngine

extension Configuration {
    /// The file of a download.
    package struct Destination: ConfigurationGroup {
        // These members take effect where a job runs: no setting of the engine stands for them.

        /// Without one the response suggests it.
        package var filename: String?
        /// Whether a file of that name gives way; otherwise a number makes the name unique.
        package var allowOverwrite: Bool?
        /// Whether the partial file of a failed download is kept, so that another one can resume from it.
        package var keepPartial: Bool?
        package var checksum: ExpectedDigest?
        /// In seconds; without it the file is kept until it is deleted.
        package var expiresAfter: Int64?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("filename", \.filename, .filename, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("allowOverwrite", \.allowOverwrite, .bool, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("keepPartial", \.keepPartial, .bool, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("checksum", \.checksum, .digest, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "expiresAfter", \.expiresAfter, .integer(1...315_360_000), get: { _ in nil }, set: { _, _ in }),
        ]
    }
}

extension ConfigurationRule where Value == String {
    /// One path component that is safe to use as it is (SEC-47).
    static var filename: Self {
        .text(
            upTo: 200,
            "must be a plain file name: no directories, no leading dot, no control characters (filenameInvalid)",
            parse: { Filename(sanitizing: $0)?.text == $0 ? $0 : nil },
            text: { $0 }
        )
    }
}

extension ConfigurationRule where Value == ExpectedDigest {
    fileprivate static var digest: Self {
        .text(
            upTo: 200,
            "must be \"sha-256=:\", \"sha-512=:\", \"sha=:\" (SHA-1) or \"md5=:\", the digest in base64, and \":\" (RFC 9530)",
            parse: { ExpectedDigest(field: [$0], of: ContentDigest.allCases) },
            text: { $0.description }
        )
    }
}
