package import HTTPTypes

extension HTTPField.Name {
    /// A name that is known when we compile.
    package init(constant: String) {
        guard let name = HTTPField.Name(constant) else { preconditionFailure("\(constant) is not a field name") }
        self = name
    }
}
