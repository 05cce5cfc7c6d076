/// One promise of a port, and the steps that prove it of whichever form.
package struct Clause<Subject: Sendable>: Sendable, CustomStringConvertible {
    package let sentence: String
    private let steps: @Sendable (Subject) async throws -> [String]

    package init(_ sentence: String, _ steps: @escaping @Sendable (Subject) async throws -> [String]) {
        self.sentence = sentence
        self.steps = steps
    }

    /// The differences of a fresh subject from the promise; none when it is kept.
    package func differences(in subject: Subject) async throws -> [String] { try await steps(subject) }

    package var description: String { sentence }
}

/// The difference in words; nothing when both are equal.
package func compare<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) -> [String] {
    found == expected ? [] : ["\(what): found \(found), expected \(expected)"]
}
