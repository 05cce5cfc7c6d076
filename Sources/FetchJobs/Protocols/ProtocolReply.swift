package import FetchEngine
import HTTPTypes

/// The reply of a registered protocol to a load, without the bytes of the body (PRT-7).
///
/// The reply is expressed by the status and the fields of an HTTP response, or by an envelope: one line of JSON before
/// the body, for statements that HTTP cannot express.
package enum ProtocolReply: Sendable {
    case response(Response, CachedResponse.StoragePolicy)
    case redirect(Response, to: URLRecord)
    /// A challenge; its space is that of the URL, whatever the protocol states.
    case challenge(ProtectionSpace)
    case cachedResponseIsValid
    case failure(LoadError)

    /// The type of replies that begin with an envelope.
    package static let envelopeType = "application/vnd.fetchd.envelope"
    /// How long an envelope may be, in bytes.
    package static let maximumEnvelope = 64 * 1024
}

// MARK: By the fields of HTTP

extension ProtocolReply {
    /// Reads a reply from an HTTP response.
    ///
    /// A redirect is one by its status, and 304 confirms the cached response; where there is a `Cache-Control` that
    /// lets it,
    /// the response may be kept.
    ///
    /// - Parameters:
    ///   - hasCached: Whether the cache has something to confirm.
    /// - Throws: When it leads to a target that is no URL, or may not be one.
    package init(_ reply: Response, to request: Request, hasCached: Bool) throws(LoadError) {
        if reply.status == .notModified, hasCached {
            self = .cachedResponseIsValid
            return
        }
        let fields = HTTPFields(reply.headerFields.filter { !JobRequest.engineFields.contains($0.name.canonicalName) })
        let response = Response(
            url: request.url, status: reply.status, headerFields: fields,
            httpVersion: request.url.isHTTP ? reply.httpVersion : request.url.scheme,
            expectedContentLength: reply.expectedContentLength)
        if Self.redirects.contains(reply.status.code), let location = fields[.location] {
            self = .redirect(response, to: try Self.target(location, from: request.url))
            return
        }
        let control = fields[values: .cacheControl].joined(separator: ",").lowercased()
        self = .response(response, control.isEmpty || control.contains("no-store") ? .notAllowed : .allowed)
    }

    private static let redirects: Set = [301, 302, 303, 307, 308]

    private static func target(_ location: String, from base: URLRecord) throws(LoadError) -> URLRecord {
        guard let url = try? base.resolve(location) else {
            throw LoadError(.redirectToNonExistentLocation, "The protocol redirects to something that is no URL.")
        }
        guard !url.hasCredentials else {
            throw LoadError(.redirectTargetForbidden, "The protocol redirects to a URL with a user name in it.")
        }
        return url
    }
}

// MARK: By an envelope

extension ProtocolReply {
    private enum Word: String, CaseIterable {
        case response, redirect, challenge, cachedResponseIsValid, error
    }

    /// Reads and checks an envelope.
    ///
    /// - Parameter length: How many bytes of a body follow; nil when that is not known.
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(
        envelope json: JSONValue, to request: Request, followedBy length: Int64?
    ) throws(InvalidInput) {
        let check = InputCheck()
        let reader = JSONReader(json, check: check)
        var reply: ProtocolReply?
        if let object = reader.object(of: Set(Word.allCases.map(\.rawValue) + ["storagePolicy"])) {
            let words = Word.allCases.filter { object[$0.rawValue] != nil }
            if words.count == 1, let word = words.first, let member = object[word.rawValue] {
                if word != .response { object["storagePolicy"]?.refuse("is for a response") }
                let policy = object["storagePolicy"]?.oneOf(CachedResponse.StoragePolicy.self) ?? .notAllowed
                reply = Self.read(word, member, policy, request, length)
            } else {
                reader.refuse("must have one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
            }
        }
        try check.finish()
        guard let reply else { throw InvalidInput(pointer: "", message: "is no envelope") }
        self = reply
    }

    private static func read(
        _ word: Word, _ member: JSONReader, _ policy: CachedResponse.StoragePolicy, _ request: Request, _ length: Int64?
    ) -> ProtocolReply? {
        switch word {
        case .response: response(member, to: request, length).map { .response($0, policy) }
        case .redirect: redirect(member, from: request, length)
        case .challenge: challenge(member, at: request.url)
        case .cachedResponseIsValid: isTrue(member) ? .cachedResponseIsValid : nil
        case .error: failure(member)
        }
    }

    private static func response(_ reader: JSONReader, to request: Request, _ length: Int64?) -> Response? {
        guard let object = reader.object(of: ["status", "headers", "properties"]) else { return nil }
        let status = object["status"].map { $0.integer(in: 200...599) } ?? 200
        var properties = Properties()
        properties[.byProtocol] = object["properties"].flatMap { $0.dictionary() == nil ? nil : $0.value }
        return status.map { status in
            Response(
                url: request.url, status: .init(code: Int(status)),
                headerFields: object["headers"].map { self.fields($0) } ?? HTTPFields(),
                httpVersion: request.url.scheme, expectedContentLength: length, properties: properties)
        }
    }

    private static func fields(_ reader: JSONReader) -> HTTPFields {
        reader.fields { element in
            guard let (field, object) = element.field() else { return nil }
            guard !JobRequest.engineFields.contains(field.name.canonicalName) else {
                object["name"]?.refuse("belongs to the engine and cannot be set (headerForbidden)")
                return nil
            }
            return field
        }
    }

    private static func redirect(_ reader: JSONReader, from request: Request, _ length: Int64?) -> ProtocolReply? {
        guard let object = reader.object(of: ["url", "status", "headers"]), let place = object.required("url"),
            let text = place.string(maximumLength: 16_384)
        else { return nil }
        let status = object["status"].map { $0.integer(in: 300...399) } ?? 302
        let fields = object["headers"].map { self.fields($0) } ?? HTTPFields()
        do throws(LoadError) {
            let target = try target(text, from: request.url)
            return status.map { status in
                let response = Response(
                    url: request.url, status: .init(code: Int(status)), headerFields: fields,
                    httpVersion: request.url.scheme, expectedContentLength: length)
                return .redirect(response, to: target)
            }
        } catch {
            place.refuse("must be a URL, whole or relative, without user name and password")
            return nil
        }
    }

    /// The methods whose credentials can be handed on as they are.
    private enum Method: String, CaseIterable {
        case `default`, httpBasic, httpBearer
    }

    private static func challenge(_ reader: JSONReader, at url: URLRecord) -> ProtocolReply? {
        guard let object = reader.object(of: ["authenticationMethod", "realm"]) else { return nil }
        let method = object["authenticationMethod"].map { $0.oneOf(Method.self) } ?? .default
        let realm = object["realm"]?.string(maximumLength: 1024)
        return method.map { method in
            .challenge(
                ProtectionSpace(
                    host: url.host ?? "", port: url.effectivePort ?? 0, scheme: url.scheme, realm: realm,
                    method: .init(rawValue: method.rawValue)))
        }
    }

    private static func isTrue(_ reader: JSONReader) -> Bool {
        guard let bool = reader.bool() else { return false }
        if !bool { reader.refuse("must be true") }
        return bool
    }

    private static let failures: [LoadError.Code] = [
        .badURL, .unsupportedURL, .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost,
        .resourceUnavailable, .badServerResponse, .userAuthenticationRequired, .cannotParseResponse,
        .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .dataLengthExceedsMaximum, .methodInvalid,
    ]

    private static func failure(_ reader: JSONReader) -> ProtocolReply? {
        guard let object = reader.object(of: ["name", "message"]), let place = object.required("name"),
            let name = place.string(maximumLength: 64)
        else { return nil }
        let message = object["message"]?.string(maximumLength: 1024)
        guard let code = failures.first(where: { $0.name == name }) else {
            place.refuse("must be one of \(failures.map(\.name).joined(separator: ", "))")
            return nil
        }
        return .failure(LoadError(code, message ?? "The protocol could not load it."))
    }
}
