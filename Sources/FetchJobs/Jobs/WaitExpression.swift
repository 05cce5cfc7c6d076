import Glibc

/// A formula for the wait before an attempt, such as `min(3600, 5 * pow(2, retried))`.
///
/// It has numbers, `+ - * /`, parentheses, `retried` (0 before the second attempt, 1 before the third), and the functions
/// `pow`, `sqrt`, `abs`, `exp`, `floor`, `ceil`, `round`, `min` and `max`.
package struct WaitExpression: Sendable, Equatable {
    package struct Failure: Error, Equatable {
        package let message: String
        /// The byte at which it was found.
        package let position: Int
    }

    package static let maximumLength = 256
    /// How deep parentheses and signs lie in each other.
    fileprivate static let maximumDepth = 32

    package let text: String
    /// In postfix notation, so that it is worked out without a tree.
    private let steps: [Step]

    fileprivate enum Step: Equatable {
        case number(Double)
        case retried
        case negate
        case add, subtract, multiply, divide
        case call(Function, arguments: Int)
    }

    fileprivate enum Function: String {
        case pow, sqrt, abs, exp, floor, ceil, round, min, max

        var arguments: ClosedRange<Int> {
            switch self {
            case .pow: 2...2
            case .min, .max: 1...16
            default: 1...1
            }
        }

        func callAsFunction(_ values: ArraySlice<Double>) -> Double {
            let first = values[values.startIndex]
            return switch self {
            case .pow: Glibc.pow(first, values[values.startIndex + 1])
            case .sqrt: first.squareRoot()
            case .abs: Swift.abs(first)
            case .exp: Glibc.exp(first)
            case .floor: first.rounded(.down)
            case .ceil: first.rounded(.up)
            case .round: first.rounded()
            case .min: values.min() ?? first
            case .max: values.max() ?? first
            }
        }
    }

    package init(_ text: String) throws(Failure) {
        var parser = Parser(bytes: Array(text.utf8))
        try parser.expression(depth: 0)
        guard parser.next == nil else { throw parser.failure("an operator is missing") }
        self.text = text
        steps = parser.steps
    }

    /// May be negative, infinite or no number.
    ///
    /// - Parameter retried: How many waits there were before.
    package func value(retried: Int) -> Double {
        var stack: [Double] = []
        for step in steps {
            switch step {
            case .number(let value): stack.append(value)
            case .retried: stack.append(Double(retried))
            case .negate: stack.append(-stack.removeLast())
            case .add: Self.combine(&stack, +)
            case .subtract: Self.combine(&stack, -)
            case .multiply: Self.combine(&stack, *)
            case .divide: Self.combine(&stack, /)
            case .call(let function, let arguments):
                let value = function(stack.suffix(arguments))
                stack.removeLast(arguments)
                stack.append(value)
            }
        }
        return stack[0]
    }

    private static func combine(_ stack: inout [Double], _ operation: (Double, Double) -> Double) {
        let right = stack.removeLast()
        stack.append(operation(stack.removeLast(), right))
    }
}

/// Recursive descent; each byte is looked at once.
private struct Parser {
    let bytes: [UInt8]
    var position = 0
    var steps: [WaitExpression.Step] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
        skipSpaces()
    }

    /// The byte that comes, spaces left out.
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    func failure(_ message: String) -> WaitExpression.Failure { .init(message: message, position: position) }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private mutating func skipSpaces() {
        while let byte = next, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        skipSpaces()
        return true
    }

    /// The operators, those that bind least first.
    private static let operators: [[(sign: Unicode.Scalar, step: WaitExpression.Step)]] = [
        [("+", .add), ("-", .subtract)], [("*", .multiply), ("/", .divide)],
    ]

    /// - Parameter level: Which operators it may have, with those that bind more.
    mutating func expression(level: Int = 0, depth: Int) throws(WaitExpression.Failure) {
        guard level < Self.operators.count else { return try factor(depth: depth) }
        try expression(level: level + 1, depth: depth)
        while let step = takeOperator(level) {
            try expression(level: level + 1, depth: depth)
            steps.append(step)
        }
    }

    private mutating func takeOperator(_ level: Int) -> WaitExpression.Step? {
        for (sign, step) in Self.operators[level] where take(sign) { return step }
        return nil
    }

    private mutating func factor(depth: Int) throws(WaitExpression.Failure) {
        guard depth < WaitExpression.maximumDepth else { throw failure("is nested too deeply") }
        if take("-") {
            try factor(depth: depth + 1)
            steps.append(.negate)
        } else if take("(") {
            try expression(depth: depth + 1)
            guard take(")") else { throw failure("a \")\" is missing") }
        } else if let byte = next, Self.isDigit(byte) || byte == UInt8(ascii: ".") {
            try number()
        } else {
            try name(depth: depth)
        }
    }

    private mutating func number() throws(WaitExpression.Failure) {
        let start = position
        while let byte = next, Self.isDigit(byte) || byte == UInt8(ascii: ".") { position += 1 }
        guard let value = Double(String(decoding: bytes[start..<position], as: UTF8.self)) else {
            position = start
            throw failure("is not a number")
        }
        skipSpaces()
        steps.append(.number(value))
    }

    private mutating func name(depth: Int) throws(WaitExpression.Failure) {
        let start = position
        while let byte = next, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        skipSpaces()
        if name == "retried" { return steps.append(.retried) }
        guard let function = WaitExpression.Function(rawValue: name) else {
            position = start
            throw failure(
                name.isEmpty
                    ? "a number, \"retried\" or a function is missing" : "\(name) is not a function or \"retried\"")
        }
        guard take("(") else { throw failure("a \"(\" is missing") }
        var count = 0
        repeat {
            try expression(depth: depth + 1)
            count += 1
        } while take(",")
        guard take(")") else { throw failure("a \")\" is missing") }
        guard function.arguments.contains(count) else {
            position = start
            throw failure("\(name) takes another number of arguments")
        }
        steps.append(.call(function, arguments: count))
    }
}
