/// The handling of redirects.
public struct RedirectConfiguration: Sendable, Hashable {
    /// The answer to a redirect response; delegates, where there are any, may give another one.
    public enum Policy: String, Sendable, Hashable, Codable, CaseIterable {
        /// Follow it.
        case follow
        /// Give the redirect response itself.
        case `return`
        /// Fail with `redirectRefused`.
        case fail
    }

    /// The answer to a redirect response; `follow` by default.
    public var policy: Policy
    /// The answer where a URL gets another form before anything is sent to it.
    public enum FormPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// Load it in that form.
        case follow
        /// Fail with `redirectRefused`.
        case fail
    }

    /// The answer where the URL is not written in its standard form, or where its host is reached by https alone;
    /// `follow` by default.
    ///
    /// Delegates, where there are any, may give another one.
    public var formPolicy: FormPolicy
    /// How many redirects one task follows; the next fails with `httpTooManyRedirects`.
    ///
    /// 20 by default.
    public var maximum: Int
    /// Whether https may lead to http; false by default, then it fails with `redirectDowngrade`.
    public var allowHTTPSToHTTP: Bool
    /// The hosts a redirect may lead to, as URLs spell them; `nil`, the default, allows all the target policy allows.
    public var allowedHosts: Set<String>?
    /// The hosts that get `Authorization`, `Cookie` and the other sensitive fields of the request although a redirect
    /// leads there from another origin; none by default.
    ///
    /// Sensitive are the fields that carry credentials, and those whose indexing strategy is `disallow`.
    /// Over https alone, unless the server that redirects is an http one itself.
    public var forwardCredentialsToHosts: Set<String>
    /// Whether 301 and 302 keep a POST and its body, where by custom it becomes GET; false by default.
    public var preserveMethod: Bool

    /// Makes the defaults, changed as given.
    public init(
        policy: Policy = .follow,
        maximum: Int = 20,
        allowHTTPSToHTTP: Bool = false,
        allowedHosts: Set<String>? = nil,
        preserveMethod: Bool = false,
        forwardCredentialsToHosts: Set<String> = [],
        formPolicy: FormPolicy = .follow
    ) {
        self.policy = policy
        self.maximum = maximum
        self.allowHTTPSToHTTP = allowHTTPSToHTTP
        self.allowedHosts = allowedHosts
        self.preserveMethod = preserveMethod
        self.forwardCredentialsToHosts = forwardCredentialsToHosts
        self.formPolicy = formPolicy
    }
}
