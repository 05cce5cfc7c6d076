/// Why a load failed on our side of the wire.
///
/// An answer of the server, whatever its status, is never an error. Messages carry no credentials, query strings
/// or bodies.
public struct LoadError: Error, Sendable {
    /// What went wrong, as a stable name and number.
    public var code: Code

    /// One sentence for a person.
    public var message: String

    /// The URL of the hop that failed.
    public var failingURL: URLRecord?

    /// What the library underneath reported: for operators, not for tenants.
    public var underlying: Underlying?

    /// What a new download can go on with; `nil` when there is nothing.
    ///
    /// See ``Session/downloadTask(withResumeData:request:options:configuration:delegate:)``.
    public var resumeData: ResumeData? {
        get { resumption?.data }
        set { resumption = Resumption(data: newValue, upload: uploadResumeData) }
    }

    /// What a new upload can go on with; `nil` when there is nothing.
    ///
    /// See ``Session/uploadTask(withResumeData:request:from:configuration:delegate:)``.
    public var uploadResumeData: UploadResumeData? {
        get { resumption?.upload }
        set { resumption = Resumption(data: resumeData, upload: newValue) }
    }

    /// Apart from the error, which is passed around much and carries this rarely.
    private var resumption: Resumption?

    private final class Resumption: Sendable {
        let data: ResumeData?
        let upload: UploadResumeData?

        init?(data: ResumeData?, upload: UploadResumeData?) {
            guard data != nil || upload != nil else { return nil }
            (self.data, self.upload) = (data, upload)
        }
    }

    /// Whether the same load may succeed when it is repeated later; a property of the code.
    public var isTransient: Bool { code.isTransient }

    /// Makes an error.
    public init(_ code: Code, _ message: String, failingURL: URLRecord? = nil, underlying: Underlying? = nil) {
        self.code = code
        self.message = message
        self.failingURL = failingURL
        self.underlying = underlying
    }

    /// The cause as the library underneath named it.
    public struct Underlying: Sendable, Hashable, CustomStringConvertible {
        /// Who speaks: `libcurl` or `errno`.
        public let domain: String
        /// Its number.
        public let number: Int
        /// Its text.
        public let text: String

        /// Makes a cause.
        public init(domain: String, number: Int, text: String) {
            self.domain = domain
            self.number = number
            self.text = text
        }

        /// Domain, number and text in one line.
        public var description: String { "\(domain) \(number): \(text)" }
    }
}

extension LoadError: CustomStringConvertible {
    /// Code, number, message and the redacted URL.
    public var description: String {
        let place = failingURL.map { " [\($0.redacted)]" } ?? ""
        return "\(code.name) (\(code.number)): \(message)\(place)"
    }
}

extension LoadError {
    /// This error, with the URL of the hop it happened at.
    func at(_ url: URLRecord) -> LoadError {
        var located = self
        if located.failingURL == nil { located.failingURL = url.withoutCredentials() }
        return located
    }
}
