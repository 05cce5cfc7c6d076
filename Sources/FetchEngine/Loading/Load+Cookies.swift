import HTTPTypes
import Synchronization

// The cookies of a hop: those its request carries, and those its answer sets.
extension Load {
    /// Whether a storage may have cookies for a hop.
    func sendsCookies(_ request: Request) -> Bool {
        guard configuration.httpShouldSetCookies, let storage = cookieStorage(for: request) else { return false }
        return !storage.isKnownEmpty
    }

    /// The request as it goes out: with the cookies that the storage has for this hop.
    ///
    /// Only the hop carries them; the next one is given its own.
    func withCookies(_ request: Request, on loop: isolated TransferLoop) async throws(LoadError) -> Request {
        guard sendsCookies(request), let storage = cookieStorage(for: request) else { return request }
        let cookies = try await storage.cookies(for: cookieContext(of: request), at: .now)
        try checkCancellation()
        guard !cookies.isEmpty else { return request }
        var field = CookieField(request.headerFields[fields: .cookie])
        field.append(cookies)
        var carrying = request
        carrying.headerFields[fields: .cookie] = [HTTPField(name: .cookie, lenientValue: field.value)]
        return carrying
    }

    /// Keeps the cookies that an answer sets, a redirect's or a refusal's too.
    func keepCookies(of response: Response, to request: Request, on loop: isolated TransferLoop) async throws(LoadError)
    {
        // A 407 comes from a proxy, which does not speak for the origin. A stored response set its cookies when it
        // came, and a handler of the program's own is given none to send.
        guard response.source == .network, response.status.code != 407,
            let storage = cookieStorage(for: request), shared.handler(for: request) == nil
        else { return }
        let now = UnixTime.now
        let context = cookieContext(of: request)
        let verdicts = Cookie.verdicts(onResponseHeaderFields: response.headerFields, from: context, at: now)
        let final = try await storage.store(verdicts, from: context, at: now)
        try checkCancellation()
        record.withLock { $0.cookieVerdicts += final }
    }
}

extension Load {
    /// Where the cookies of a hop are, or `nil` when it has none.
    private func cookieStorage(for request: Request) -> (any CookieStorage)? {
        guard let storage = configuration.httpCookieStorage, request.httpShouldHandleCookies, request.url.isHTTP else {
            return nil
        }
        return storage
    }

    private func cookieContext(of request: Request) -> CookieContext {
        CookieContext(
            url: request.url, mainDocumentURL: request.mainDocumentURL,
            acceptPolicy: configuration.httpCookieAcceptPolicy)
    }
}
