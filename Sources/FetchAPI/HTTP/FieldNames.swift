import FetchJobs
import HTTPTypes

extension HTTPField.Name {
    static let requestID = Self(constant: "Request-Id")
    static let idempotencyKey = Self(constant: "Idempotency-Key")
    static let idempotencyReplayed = Self(constant: "Idempotency-Replayed")
    static let prefer = Self(constant: "Prefer")
    static let preferenceApplied = Self(constant: "Preference-Applied")
    static let contentDigest = Self(constant: "Content-Digest")
    static let reprDigest = Self(constant: "Repr-Digest")
    static let lastEventID = Self(constant: "Last-Event-ID")
    static let xAccelBuffering = Self(constant: "X-Accel-Buffering")
    static let uploadOffset = Self(constant: "Upload-Offset")
    static let uploadComplete = Self(constant: "Upload-Complete")
    static let uploadDraftInteropVersion = Self(constant: "Upload-Draft-Interop-Version")
    static let uploadLength = Self(constant: "Upload-Length")
    static let uploadLimit = Self(constant: "Upload-Limit")
    static let rateLimit = Self(constant: "RateLimit")
    static let rateLimitPolicy = Self(constant: "RateLimit-Policy")
    static let link = Self(constant: "Link")
    static let referrerPolicy = Self(constant: "Referrer-Policy")
    static let crossOriginOpenerPolicy = Self(constant: "Cross-Origin-Opener-Policy")
    static let forwarded = Self(constant: "Forwarded")
    static let xForwardedFor = Self(constant: "X-Forwarded-For")
    static let xForwardedProto = Self(constant: "X-Forwarded-Proto")
    /// HTML Standard, "shared declarative refresh steps".
    static let refresh = Self(constant: "Refresh")
    static let secFetchSite = Self(constant: "Sec-Fetch-Site")
}

extension HTTPRequest.Method {
    /// The method for a metric's label: one of a closed set.
    var label: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .patch: "PATCH"
        case .options: "OPTIONS"
        default: "other"
        }
    }
}
