import FetchEngine

// Parts of a job as JSON has them, for what makes a job of another form.

extension JSONValue {
    /// Header fields, as a request has them.
    package static func headerFields(_ fields: [(name: String, value: String)]) -> JSONValue {
        .array(
            fields.map { name, value in
                .object([JSONMember("name", .string(name)), JSONMember("value", .string(value))])
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
