package import HTTPTypes

extension HTTPField {
    /// Whether its value is a secret between the client and the server that it is for.
    ///
    /// Fields that carry credentials are, and those that are never to be indexed (RFC 7541 §7.1.3), which is how a
    /// client marks others.
    package var isSensitive: Bool { indexingStrategy == .disallow || name.isOfCredential }

    /// The same field, marked.
    package var markedSensitive: HTTPField {
        var field = self
        field.indexingStrategy = .disallow
        return field
    }
}

extension HTTPField.Name {
    /// Whether fields of this name carry credentials.
    package var isOfCredential: Bool { Self.ofCredentials.contains(canonicalName) }

    /// The fields that carry credentials, by the standards and by the custom of widely used services.
    package static let ofCredentials: Set = [
        "authorization", "proxy-authorization", "cookie", "x-authorization", "x-api-key", "x-apikey", "api-key",
        "apikey", "x-auth-token", "x-auth-key", "x-access-token", "x-session-token", "x-csrf-token", "x-csrftoken",
        "x-xsrf-token", "x-amz-security-token", "x-goog-api-key", "x-goog-iam-authorization-token",
        "x-functions-key", "ocp-apim-subscription-key", "x-rapidapi-key", "private-token", "job-token",
        "x-gitlab-token", "x-vault-token", "x-consul-token", "x-shopify-access-token", "x-subject-token",
    ]
}
