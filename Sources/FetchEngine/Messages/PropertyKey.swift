/// The name and the type of a property that a protocol adds to its requests or responses.
///
/// ```swift
/// extension PropertyKey<Int> {
///     static let frameLimit = Self("frameLimit")
/// }
/// request[.frameLimit] = 12
/// ```
public struct PropertyKey<Value: Sendable>: Sendable, Hashable {
    /// The name.
    public let name: String

    /// Makes a key; keys of one name and one type are the same key.
    public init(_ name: String) { self.name = name }
}

/// The properties that protocols add to requests and responses.
public struct Properties: Sendable {
    private var values: [String: any Sendable] = [:]

    /// Has no properties.
    public init() {}

    /// The names of the properties there are.
    public var names: [String] { values.keys.sorted() }

    /// The value of a property; nil when it was not set, or was set as another type.
    public subscript<Value>(key: PropertyKey<Value>) -> Value? {
        get { values[key.name] as? Value }
        set { values[key.name] = newValue }
    }
}
