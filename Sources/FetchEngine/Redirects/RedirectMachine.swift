package import HTTPTypes

/// Decides whether a response leads to a further hop of its load.
///
/// Owns no connection and no clock.
struct RedirectMachine {
    enum Action {
        /// The response is the result of the load.
        case deliver
        /// Make this request next, unless the delegate decides otherwise.
        case propose(Request, Redirect)
        case fail(LoadError)
    }

    let configuration: RedirectConfiguration
    private(set) var followed: Int

    /// - Parameter followed: How many redirects an earlier load of the same task has followed.
    init(configuration: RedirectConfiguration, followed: Int = 0) {
        self.configuration = configuration
        self.followed = followed
    }

    /// Whether a body that comes with this status is likely to be thrown away.
    static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The proposal, if any, that follows from the response to `request`.
    ///
    /// - Parameters:
    ///   - judge: Reads the target, and says whether it may be loaded.
    ///   - isAsking: Whether an adviser or delegate may answer otherwise; there is a proposal then with every policy.
    ///   - secured: The URL to load in place of one, where its host is known to want https.
    mutating func received(
        _ response: Response, to request: Request, by judge: TargetGuard = TargetGuard(policy: .unrestricted),
        isAsking: Bool = false, _ secured: (URLRecord) -> URLRecord = { $0 }
    ) -> Action {
        guard Self.isRedirect(response.status.code), let location = response.headerFields.locationText else {
            return .deliver
        }
        if !isAsking, let action = actionOfPolicy { return action }
        do throws(LoadError) {
            guard followed < configuration.maximum else {
                throw LoadError(.httpTooManyRedirects, "More than \(configuration.maximum) redirects.")
            }
            let target = try secured(self.target(location, from: request.url, judge))
            try check(target, from: request.url)
            let next = Self.next(
                request, to: target, status: response.status, preserving: configuration.preserveMethod,
                trusting: configuration.forwardsCredentials(
                    from: request.url.scheme, to: target.host ?? "", by: target.scheme))
            followed += 1
            return .propose(
                next,
                Redirect(
                    url: request.url, status: response.status, location: location,
                    target: target, method: next.method))
        } catch {
            return actionOfPolicy ?? .fail(error)
        }
    }

    /// The action of the policy on every redirect; nil when redirects are followed.
    var actionOfPolicy: Action? {
        switch configuration.policy {
        case .follow: nil
        case .return: .deliver
        case .fail: .fail(LoadError(.redirectRefused, "The server redirects, and the policy is to fail then."))
        }
    }

    /// The request that an answer names, with https where its host wants that, after the checks of a server's redirect
    /// (SEC-30).
    func checked(
        _ request: Request, from base: URLRecord, by judge: TargetGuard, _ secured: (URLRecord) -> URLRecord
    ) throws(LoadError) -> Request {
        var checked = request
        checked.url = secured(request.url)
        try check(checked.url, from: base)
        do throws(TargetRefusal) { try judge.judge(checked.url) } catch { throw LoadError(redirectTo: error) }
        return checked
    }

    /// The proposal that a protocol handler makes: the checks of a server's, but other schemes than http are its own.
    mutating func received(
        _ response: Response, from request: Request, proposing next: Request, isAsking: Bool = false
    ) -> Action {
        if !isAsking, let action = actionOfPolicy { return action }
        do throws(LoadError) {
            guard followed < configuration.maximum else {
                throw LoadError(.httpTooManyRedirects, "More than \(configuration.maximum) redirects.")
            }
            if next.url.isHTTP { try check(next.url, from: request.url) }
            guard next.url.scheme != "data", next.url.scheme != "file" else {
                throw LoadError(.redirectTargetForbidden, "Redirects do not lead to data and file URLs.")
            }
            followed += 1
            return .propose(
                next,
                Redirect(
                    url: request.url.withoutCredentials(), status: response.status, location: "\(next.url)",
                    target: next.url, method: next.method))
        } catch {
            return actionOfPolicy ?? .fail(error)
        }
    }

    /// Resolves a `Location` (RFC 9110 §10.2.2), which has to pass the guard (SEC-30).
    private func target(
        _ location: String, from base: URLRecord, _ judge: TargetGuard
    ) throws(LoadError) -> URLRecord {
        let isURL = (try? base.resolve(location)) != nil
        do throws(TargetRefusal) {
            let target = try judge.target(location, from: base)
            guard target.fragment == nil, let fragment = base.fragment else { return target }
            // A fragment is inherited when the Location has none.
            return try judge.target("\(target)#\(fragment)")
        } catch {
            guard isURL else {
                throw LoadError(.redirectToNonExistentLocation, "The server redirects to something that is no URL.")
            }
            throw LoadError(redirectTo: error)
        }
    }

    private func check(_ target: URLRecord, from base: URLRecord) throws(LoadError) {
        guard target.isHTTP, let host = target.host else {
            throw LoadError(.redirectTargetForbidden, "Redirects lead to http and https URLs only.")
        }
        guard target.username.isEmpty, target.password.isEmpty else {
            throw LoadError(.redirectTargetForbidden, "The server redirects to a URL with a user name in it.")
        }
        guard base.scheme != "https" || target.scheme == "https" || configuration.allowHTTPSToHTTP else {
            throw LoadError(.redirectDowngrade, "The server redirects from https to http.")
        }
        if let allowed = configuration.allowedHosts, !allowed.contains(host) {
            throw LoadError(.redirectTargetForbidden, "The server redirects to a host that is not allowed.")
        }
    }

    /// The request for the next hop.
    ///
    /// - Parameter trusting: Whether another origin gets the sensitive fields of this one.
    static func next(
        _ request: Request, to target: URLRecord, status: HTTPResponse.Status, preserving: Bool,
        trusting: Bool = false
    ) -> Request {
        var next = request
        next.url = target
        // A document that has moved is still the main one.
        if request.mainDocumentURL == request.url { next.mainDocumentURL = target }
        if let method = rewrittenMethod(for: request.method, status: status, preserving: preserving) {
            next.method = method
            next.body = nil
            contentFields.forEach { next.headerFields[fields: $0] = [] }
        }
        // Sensitive fields are for one origin alone (SEC-31).
        if target.origin != request.url.origin, !trusting { next.headerFields.removeAll(where: \.isSensitive) }
        return next
    }

    /// The method for the next hop, or `nil` when the method and body are kept.
    ///
    /// RFC 9110 §15.4: 303 becomes GET (HEAD stays HEAD); 301 and 302 change POST only.
    static func rewrittenMethod(
        for method: HTTPRequest.Method, status: HTTPResponse.Status, preserving: Bool = false
    ) -> HTTPRequest.Method? {
        switch status.code {
        case 301, 302: method == .post && !preserving ? .get : nil
        case 303: method == .get || method == .head ? nil : .get
        default: nil
        }
    }

    /// The fields that describe a body; a request without its body drops them.
    static let contentFields: [HTTPField.Name] = [
        .contentType, .contentEncoding, .contentLanguage, .contentLocation, .contentLength,
    ]
}

extension Request {
    /// The request that a redirect with a status leads to, as HTTP has it, for a ``ProtocolHandler`` that proposes one.
    package func redirected(to url: URLRecord, by status: HTTPResponse.Status) -> Request {
        RedirectMachine.next(self, to: url, status: status, preserving: false)
    }
}

extension RedirectConfiguration {
    /// Whether credentials for the server of a URL may be sent to another host.
    ///
    /// - Parameters:
    ///   - origin: The scheme of that URL.
    ///   - scheme: The scheme by which the host is reached.
    package func forwardsCredentials(from origin: String, to host: String, by scheme: String) -> Bool {
        forwardCredentialsToHosts.contains(host) && (scheme == "https" || origin == "http" && scheme == "http")
    }
}

extension LoadError {
    /// The server leads to a target that the guard refuses; the message names the rule.
    init(redirectTo refusal: TargetRefusal) {
        self.init(
            .redirectTargetForbidden,
            "The server redirects to a target that is not allowed (\(refusal.code)): \(refusal.message)")
        self.refusal = refusal
    }
}

extension HTTPFields {
    /// The first `Location`; bytes that are not UTF-8 are percent-encoded, which is how they reach the server that
    /// wrote them.
    fileprivate var locationText: String? {
        guard let field = self[fields: .location].first else { return nil }
        return field.withUnsafeBytesOfValue { bytes in
            String(validating: bytes, as: UTF8.self)
                ?? String(
                    decoding: bytes.flatMap { byte in
                        byte < 0x80 ? [byte] : Array("%\(String(byte, radix: 16, uppercase: true))".utf8)
                    }, as: UTF8.self)
        }
    }
}
