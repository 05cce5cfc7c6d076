import FetchEngine

// Parts of a job as JSON has them, for what makes a job of another form.

extension JSONValue {
    /// Header fields, as a request has them.
    ///
    /// - Parameter isSensitive: Whether the value of a field with this name is a secret.
    package static func headerFields(
        _ fields: [(name: String, value: String)], isSensitive: (String) -> Bool = { _ in false }
    ) -> JSONValue {
        .array(
            fields.map { name, value in
                let field = [JSONMember("name", .string(name)), JSONMember("value", .string(value))]
                return .object(isSensitive(name) ? field + [JSONMember("sensitive", .bool(true))] : field)
            })
    }

    /// A user's name and password, as authentication and proxies have them.
    package static func credential(_ user: String, _ password: String) -> JSONValue {
        .object([JSONMember("user", .string(user)), JSONMember("password", .string(password))])
    }

    /// A digest by the name of its algorithm and its hexadecimal digits, as `destination.checksum` has it; nil for an
    /// unknown algorithm and for what are not its digits.
    package static func checksum(_ name: String, hexadecimal digits: String) -> JSONValue? {
        ExpectedDigest(name, hexadecimal: digits).map { .string("\($0)") }
    }
}
