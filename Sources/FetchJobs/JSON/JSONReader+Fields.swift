import HTTPTypes

extension JSONReader {
    private static let maximumFields = 100
    private static let maximumFieldBytes = 32 * 1024
    static let namesOfField: Set = ["name", "value"]

    /// Header fields in their order, as `[{"name", "value"}]`.
    ///
    /// - Parameter read: Reads one of them; see ``field(of:)``.
    func fields(_ read: (JSONReader) -> HTTPField?) -> HTTPFields {
        bounded((array(maximum: Self.maximumFields) ?? []).compactMap(read))
    }

    /// The same, or as `{"Name": "value"}` with one value or several for a name.
    func fieldsInEitherForm(_ read: (JSONReader) -> HTTPField?) -> HTTPFields {
        guard case .object(let members) = value else { return fields(read) }
        // A text of a megabyte has room for a hundred thousand.
        let named = members.count > Self.maximumFields ? [] : namedValues()
        guard max(members.count, named.count) <= Self.maximumFields else {
            refuse("has more than \(Self.maximumFields) fields")
            return HTTPFields()
        }
        return bounded(named.compactMap { Self.field($0, $1, read) })
    }

    private func bounded(_ fields: [HTTPField]) -> HTTPFields {
        let size = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        if size > Self.maximumFieldBytes { refuse("holds more than \(Self.maximumFieldBytes) bytes") }
        return HTTPFields(fields)
    }

    /// The values of an object, each with the name of its member; a member may have several.
    private func namedValues() -> [(name: String, value: JSONReader)] {
        (dictionary() ?? []).flatMap { name, member in
            guard case .array = member.value else { return [(name, member)] }
            return (member.array(maximum: Self.maximumFields) ?? []).map { (name, $0) }
        }
    }

    /// A field that is a member of an object, read as `{"name", "value"}` is; its errors have the place of the member.
    private static func field(_ name: String, _ value: JSONReader, _ read: (JSONReader) -> HTTPField?) -> HTTPField? {
        let check = InputCheck()
        let members = [JSONMember("name", .string(name)), JSONMember("value", value.value)]
        let field = read(JSONReader(.object(members), check: check))
        for violation in check.violations { value.refuse(violation.message) }
        return field
    }

    /// A header field as a `{"name", "value"}` object, and the object.
    ///
    /// - Parameter names: The members that it may have, those two among them.
    func field(of names: Set<String> = namesOfField) -> (field: HTTPField, object: JSONObjectReader)? {
        guard let object = object(of: names),
            let nameReader = object.required("name"), let valueReader = object.required("value"),
            let text = nameReader.string(maximumLength: 256), let value = valueReader.string(maximumLength: 16_384)
        else { return nil }
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            nameReader.refuse("must be a token (RFC 9110 §5.1) (headerInvalid)")
            return nil
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            valueReader.refuse("must not hold control characters (RFC 9110 §5.5) (headerInvalid)")
            return nil
        }
        return (HTTPField(name: name, value: value), object)
    }
}
