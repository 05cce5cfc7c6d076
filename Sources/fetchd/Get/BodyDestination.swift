import FetchEngine

/// Where a body goes, as the options say.
enum BodyDestination: Sendable {
    case standardOutput
    case file(String)
    /// A file in the working directory, named by the response.
    case remoteName
    case nowhere
    /// A file of which a part may be there.
    case resumed(ResumedFile)

    /// Opens the place for the body of a response.
    func open(for response: Response) throws(OutputError) -> BodySink {
        switch self {
        case .standardOutput: .descriptor(.standardOutput)
        case .file(let path): .file(try FileOutput(path: path))
        case .remoteName: .file(try FileOutput(path: Self.fileName(response.suggestedFilename)))
        case .nowhere: .nowhere
        case .resumed(let file):
            .file(try FileOutput(goingOn: file.path, at: file.verdict(response) == .append ? file.bytes : 0))
        }
    }

    /// A name that is one visible file of the working directory, for any name that the server sends.
    static func fileName(_ suggestion: String) -> String {
        let visible = suggestion.unicodeScalars.drop { $0 == "." }
        let plain = visible.map { scalar -> Character in
            scalar == "/" || scalar.properties.generalCategory == .control ? "_" : Character(scalar)
        }
        return plain.isEmpty ? "index" : String(plain)
    }
}

/// An open place for a body.
enum BodySink: Sendable {
    case descriptor(DescriptorWriter)
    case file(FileOutput)
    case nowhere

    mutating func write(_ bytes: [UInt8]) async throws {
        switch self {
        case .descriptor(let writer): try await writer.write(bytes)
        case .file(var output):
            try output.write(bytes)
            self = .file(output)
        case .nowhere: break
        }
    }

    /// Ends a body that is complete.
    func commit() throws(OutputError) {
        if case .file(let output) = self { try output.commit() }
    }

    /// Ends a body that is not.
    func abandon() {
        if case .file(let output) = self { output.abandon() }
    }

    /// The file written, if it is one.
    var path: String? {
        if case .file(let output) = self { output.path } else { nil }
    }
}
