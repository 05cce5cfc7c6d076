import HTTPTypes

extension JSONReader {
    private static let maximumFields = 100
    private static let maximumFieldBytes = 32 * 1024

    /// Header fields in their order.
    ///
    /// - Parameter read: Reads one of them; see ``field(besides:)``.
    func fields(_ read: (JSONReader) -> HTTPField?) -> HTTPFields {
        var fields = HTTPFields()
        for element in array(maximum: Self.maximumFields) ?? [] {
            if let field = read(element) { fields.append(field) }
        }
        let size = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        if size > Self.maximumFieldBytes { refuse("holds more than \(Self.maximumFieldBytes) bytes") }
        return fields
    }

    /// A header field as a `{"name", "value"}` object, and the object.
    ///
    /// - Parameter others: Further members that it may have.
    func field(besides others: Set<String> = []) -> (field: HTTPField, object: JSONObjectReader)? {
        guard let object = object(of: others.union(["name", "value"])),
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
