/// Why a load failed on our side of the wire.
///
/// A response of the server, with any status, is never an error. Messages carry no credentials, query strings
/// or bodies.
///
/// ```swift
/// do {
///     _ = try await session.data(for: request)
/// } catch {
///     print(error.code, error.message, error.isTransient ? "Try again later." : "")
/// }
/// ```
public struct LoadError: Error, Sendable {
    /// Apart from the error, so that every function that may throw one has little to hand back.
    private var values: Boxed<Values>

    private struct Values: Sendable {
        var code: Code
        var message: String
        var failingURL: URLRecord?
        var underlying: Underlying?
        var resumeData: ResumeData?
        var uploadResumeData: UploadResumeData?
        var refusal: TargetRefusal?
    }

    /// The kind of the error, as a stable name and number.
    public var code: Code {
        get { values.value.code }
        set { values.value.code = newValue }
    }

    /// One sentence for a person.
    public var message: String {
        get { values.value.message }
        set { values.value.message = newValue }
    }

    /// The URL of the hop that failed.
    public var failingURL: URLRecord? {
        get { values.value.failingURL }
        set { values.value.failingURL = newValue }
    }

    /// The report of the library underneath: for operators, not for tenants.
    public var underlying: Underlying? {
        get { values.value.underlying }
        set { values.value.underlying = newValue }
    }

    /// The data with which a new download can continue; `nil` when there is none.
    ///
    /// See ``Session/downloadTask(withResumeData:request:options:configuration:delegate:)``.
    public var resumeData: ResumeData? {
        get { values.value.resumeData }
        set { values.value.resumeData = newValue }
    }

    /// The data with which a new upload can continue; `nil` when there is none.
    ///
    /// See ``Session/uploadTask(withResumeData:request:from:configuration:delegate:)``.
    public var uploadResumeData: UploadResumeData? {
        get { values.value.uploadResumeData }
        set { values.value.uploadResumeData = newValue }
    }

    /// The rule of the target policy that has refused a target of the load, or its proxy; nil of other failures.
    package internal(set) var refusal: TargetRefusal? {
        get { values.value.refusal }
        set { values.value.refusal = newValue }
    }

    /// Whether the same load may succeed when it is repeated later; a property of the code.
    public var isTransient: Bool { code.isTransient }

    /// Makes an error.
    public init(_ code: Code, _ message: String, failingURL: URLRecord? = nil, underlying: Underlying? = nil) {
        values = Boxed(Values(code: code, message: message, failingURL: failingURL, underlying: underlying))
    }

    /// The failure of a load whose target, or proxy, is refused.
    init(refused refusal: TargetRefusal) {
        self.init(Code(refusal.code), refusal.message)
        self.refusal = refusal
    }

    /// The cause as the library underneath named it.
    public struct Underlying: Sendable, Hashable, CustomStringConvertible {
        /// The source of the report: `libcurl` or `errno`.
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
