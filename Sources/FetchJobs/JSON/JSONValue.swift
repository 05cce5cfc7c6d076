/// A JSON text as a tree, with members in the order they were written.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The kind of the value, for an error message.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    // Nil, or nothing, for a value of another kind.

    /// The value of the first member with a name; nil too when there is none.
    package func member(_ name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var double: Double? { if case .number(let number) = self { number.double } else { nil } }
    package var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }
    package var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

    /// The value as JSON, on one line.
    package var json: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}

/// One member of an object.
package struct JSONMember: Sendable, Equatable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }
}

extension [JSONMember] {
    /// The value of the first member with a name; nil when there is none.
    package subscript(name: String) -> JSONValue? { first { $0.name.isSame(as: name) }?.value }
}

/// A number as it was written, so that no digit is lost on its way through.
package struct JSONNumber: Sendable, Equatable {
    package let text: String

    init(text: String) { self.text = text }

    package init(_ value: Int64) { text = String(value) }

    package init(_ value: Double) { text = String(value) }

    package var double: Double { Double(text) ?? .nan }

    /// The value when it is a whole number in range, written as one or not (`3`, `3.0`, `3e0`).
    package var integer: Int64? { Int64(text) ?? Int64(exactly: double) }
}
