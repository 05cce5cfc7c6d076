import Foundation

/// Any JSON, such as the members of a configuration or the facts of a question.
///
/// ```swift
/// let configuration: JSONValue = ["redirects": ["maximum": 3], "timeouts": ["connect": 5]]
/// ```
public enum JSONValue: Sendable, Hashable {
    /// Null.
    case null
    /// True or false.
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int64)
    /// Another number.
    case number(Double)
    /// A text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Members by their names.
    case object([String: JSONValue])

    /// A member; nil where there is none, or this is no object.
    public subscript(_ name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The text; nil of anything else.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number; nil of anything else.
    public var integer: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    /// The members; none of anything else.
    public var members: [String: JSONValue] {
        if case .object(let members) = self { members } else { [:] }
    }

    var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // What it is made of is JSON: only a number that is none could fail, and reads as null.
        return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
    }

    /// The same without members that are null.
    var withoutNulls: JSONValue { .object(members.filter { $0.value != .null }) }
}

extension JSONValue: Codable {
    /// Reads any JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Makes a text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes a number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Makes true or false.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes a list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object; of two members with one name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
    /// Makes null.
    public init(nilLiteral: ()) { self = .null }
}
