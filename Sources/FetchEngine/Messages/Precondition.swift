import HTTPTypes

/// The state of a resource in which a request may act (RFC 9110 §13.1).
///
/// In any other state the server answers 412 and does nothing, so an upload does not overwrite the change of another
/// client.
///
/// ```swift
/// request.setPrecondition(.doesNotExist)  // If-None-Match: *
/// ```
public enum Precondition: Sendable, Hashable {
    /// It is in the state of this strong entity tag, with its quotes; `*` is any state, so that it is there.
    case matches(entityTag: String)
    /// It has not changed since this value of `Last-Modified`.
    case unmodified(since: String)
    /// The resource does not exist.
    case doesNotExist

    /// The state that a response shows: its strong entity tag, else its `Last-Modified`; nil when it has neither.
    public init?(unchangedSince response: Response) {
        if let tag = response.headerFields[.eTag], tag.hasPrefix("\"") {
            self = .matches(entityTag: tag)
        } else if let date = response.headerFields[.lastModified] {
            self = .unmodified(since: date)
        } else {
            return nil
        }
    }
}

extension Request {
    /// Makes the request conditional; nil makes it act in every state.
    ///
    /// Conditions that the request had are replaced.
    public mutating func setPrecondition(_ precondition: Precondition?) {
        for name in [HTTPField.Name.ifMatch, .ifUnmodifiedSince, .ifNoneMatch] { headerFields[fields: name] = [] }
        switch precondition {
        case nil: break
        case .matches(let tag): headerFields[.ifMatch] = tag
        case .unmodified(let date): headerFields[.ifUnmodifiedSince] = date
        case .doesNotExist: headerFields[.ifNoneMatch] = "*"
        }
    }
}
