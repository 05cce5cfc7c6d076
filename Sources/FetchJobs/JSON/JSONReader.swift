/// One broken rule of an input: where, as a JSON Pointer (RFC 6901), and which.
package struct Violation: Sendable, Equatable {
    package let pointer: String
    package let message: String

    package init(pointer: String, message: String) {
        self.pointer = pointer
        self.message = message
    }
}

/// An input that breaks rules; it names every member that does, up to ``maximumViolations``.
package struct InvalidInput: Error, Sendable, Equatable {
    package static let maximumViolations = 20
    package let violations: [Violation]

    package init(_ violations: [Violation]) { self.violations = violations }

    package init(pointer: String, message: String) {
        violations = [Violation(pointer: pointer, message: message)]
    }
}

/// Gathers the errors of an input while it is read, so that the caller learns of all of them at once.
package final class InputCheck {
    private(set) var violations: [Violation] = []

    package init() {}

    /// Whether the most violations are gathered that an error lists.
    var isFull: Bool { violations.count >= InvalidInput.maximumViolations }

    package func refuse(_ pointer: String, _ message: String) {
        guard !isFull else { return }
        violations.append(Violation(pointer: pointer, message: message))
    }

    /// Throws when anything was refused.
    package func finish() throws(InvalidInput) {
        guard violations.isEmpty else { throw InvalidInput(violations) }
    }
}

/// A JSON value, its place, and the check that gets its errors.
///
/// Every reading method returns nil after it has reported an error, so that reading can go on to the next member.
package struct JSONReader {
    package let value: JSONValue
    package let check: InputCheck
    /// Its place, or that of the object that it is a member of.
    private let place: String
    /// The name of the member.
    private let name: String?

    package init(_ value: JSONValue, pointer: String = "", check: InputCheck) {
        self.value = value
        self.check = check
        place = pointer
        name = nil
    }

    fileprivate init(_ value: JSONValue, _ name: String, of place: String, check: InputCheck) {
        self.value = value
        self.check = check
        self.place = place
        self.name = name
    }

    /// Put together when it is asked for: most inputs are right.
    package var pointer: String { name.map { "\(place)/\($0)" } ?? place }

    package func refuse(_ message: String) { check.refuse(pointer, message) }

    /// The members of an object that has none but these.
    ///
    /// - Parameters:
    ///   - others: Members that are read elsewhere.
    ///   - refused: Others that a client may look for, each with the reason why it is not here.
    package func object(
        of names: Set<String>,
        besides others: Set<String> = [],
        refusing refused: some Collection<(key: String, value: String)> = EmptyCollection()
    ) -> JSONObjectReader? {
        guard case .object(let members) = value else { return mismatch("an object") }
        for member in members where !names.contains(member.name) && !others.contains(member.name) {
            // A text of a megabyte has room for a hundred thousand.
            guard !check.isFull else { break }
            if let reason = refused.first(where: { $0.key == member.name })?.value {
                check.refuse(path(member.name), reason)
                continue
            }
            let known = names.union(others).sorted().joined(separator: ", ")
            check.refuse(path(member.name), "is not a member that is known here; known are: \(known)")
        }
        return JSONObjectReader(members: members, reader: self)
    }

    /// The members of an object whose names are free.
    package func dictionary() -> [(name: String, reader: JSONReader)]? {
        guard case .object(let members) = value else { return mismatch("an object") }
        return members.map { ($0.name, JSONReader($0.value, pointer: path($0.name), check: check)) }
    }

    package func array(maximum: Int) -> [JSONReader]? {
        guard case .array(let elements) = value else { return mismatch("an array") }
        guard elements.count <= maximum else { return refusing("has more than \(maximum) elements") }
        return elements.enumerated().map { JSONReader($1, pointer: "\(pointer)/\($0)", check: check) }
    }

    /// A string that can be compared at the price of its length.
    package func string(maximumLength: Int = 65_536) -> String? {
        guard let string = text(maximumLength: maximumLength) else { return nil }
        guard string.isStreamSafe else { return refusing("has more than 30 combining marks in a row") }
        return string
    }

    /// A string that is passed on and never compared: any at all.
    package func text(maximumLength: Int = 65_536) -> String? {
        guard case .string(let string) = value else { return mismatch("a string") }
        guard string.utf8.count <= maximumLength else { return refusing("is longer than \(maximumLength) bytes") }
        return string
    }

    package func bool() -> Bool? {
        guard case .bool(let bool) = value else { return mismatch("a boolean") }
        return bool
    }

    package func number(in range: ClosedRange<Double>) -> Double? {
        guard case .number(let number) = value else { return mismatch("a number") }
        guard range.contains(number.double) else {
            return refusing("must be from \(JSONReader.show(range.lowerBound)) to \(JSONReader.show(range.upperBound))")
        }
        return number.double
    }

    /// A number of seconds, kept to the microsecond.
    package func seconds(in range: ClosedRange<Double>) -> Duration? {
        number(in: range).map { .microseconds(Int64(($0 * 1_000_000).rounded())) }
    }

    package func integer(in range: ClosedRange<Int64>) -> Int64? {
        guard case .number(let number) = value else { return mismatch("a whole number") }
        guard let integer = number.integer, range.contains(integer) else {
            return refusing("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }

    /// The id of a thing.
    ///
    /// - Parameter description: The kind of thing in words, with an article and the form of its ids.
    package func identifier<Kind: IdentifierKind>(_ description: String) -> Identifier<Kind>? {
        guard let text = string(maximumLength: 64) else { return nil }
        guard let id = Identifier<Kind>(text) else { return refusing("is not the id of \(description)") }
        return id
    }

    /// A case of an enumeration, by its raw value.
    package func oneOf<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> Choice? {
        guard case .string(let string) = value else { return mismatch("a string") }
        guard let choice = Choice.allCases.first(where: { $0.rawValue.isSame(as: string) }) else {
            let known = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            return refusing("must be one of \(known)")
        }
        return choice
    }

    private func path(_ name: String) -> String {
        let escaped = name.replacing("~", with: "~0").replacing("/", with: "~1")
        return "\(pointer)/\(escaped)"
    }

    private func mismatch<Value>(_ expected: String) -> Value? {
        refusing("must be \(expected), not \(value.kind)")
    }

    private func refusing<Value>(_ message: String) -> Value? {
        refuse(message)
        return nil
    }

    private static func show(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String(value)
    }
}

/// The members of an object being read.
package struct JSONObjectReader {
    private let members: [JSONMember]
    private let pointer: String
    package let check: InputCheck

    init(members: [JSONMember], reader: JSONReader) {
        self.members = members
        pointer = reader.pointer
        check = reader.check
    }

    /// The member of this name, or nil when there is none; `null` is a value like any other, and mostly a wrong one.
    package subscript(_ name: String) -> JSONReader? {
        guard let member = members.first(where: { $0.name.isSame(as: name) }) else { return nil }
        return JSONReader(member.value, name, of: pointer, check: check)
    }

    /// The member of this name; the check gets an error when it is missing.
    package func required(_ name: String) -> JSONReader? {
        let member = self[name]
        if member == nil { check.refuse("\(pointer)/\(name)", "is required") }
        return member
    }
}
