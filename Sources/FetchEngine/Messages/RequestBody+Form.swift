import HTTPTypes

extension RequestBody {
    /// The fields of a form as `application/x-www-form-urlencoded`, in this order.
    ///
    /// The `Content-Type` field is the request's own to set; `setForm(_:)` of ``Request`` does both.
    public static func form(_ fields: [QueryItem]) -> RequestBody { .bytes(Array(PercentCodec.form(fields).utf8)) }
}

extension Request {
    /// Makes a form the content of the request, and sets `Content-Type`.
    ///
    /// The method stays as it is.
    public mutating func setForm(_ fields: [QueryItem]) {
        body = .form(fields)
        headerFields[.contentType] = "application/x-www-form-urlencoded"
    }
}
