import HTTPTypes

// Header fields by names and values that are text of any kind.
extension Request {
    /// The value of a header field; nil when the request has none of this name.
    ///
    /// Names have no case. The values of repeated fields are joined by commas (RFC 9110 §5.3).
    public func value(forHTTPHeaderField name: String) -> String? {
        HTTPField.Name(name).flatMap { headerFields[$0] }
    }

    /// Sets a header field in place of those of its name; nil removes them.
    ///
    /// An `HTTPField` that is made of a text has spaces in place of CR, LF and NUL; here such a value is refused.
    ///
    /// - Throws: `headerInvalid` when the name is no token, or the value has a control character other than TAB.
    public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) throws(LoadError) {
        let field = try HTTPField(checking: value ?? "", name: name)
        headerFields[fields: field.name] = value == nil ? [] : [field]
    }

    /// Adds a header field behind those there are.
    ///
    /// - Throws: `headerInvalid`, as ``setValue(_:forHTTPHeaderField:)``.
    public mutating func addValue(_ value: String, forHTTPHeaderField name: String) throws(LoadError) {
        headerFields.append(try HTTPField(checking: value, name: name))
    }
}

extension HTTPField {
    /// - Throws: `headerInvalid` when this is no field (RFC 9110 §5.1, §5.5).
    fileprivate init(checking value: String, name: String) throws(LoadError) {
        guard let name = Name(name) else { throw LoadError(.headerInvalid, "The name of a header field is no token.") }
        guard value.utf8.allSatisfy(\.isAllowedInFieldValue) else {
            throw LoadError(.headerInvalid, "The header field \(name) has a control character.")
        }
        self.init(name: name, value: value)
    }
}
