/// SQL text with its values.
///
/// Values are interpolated and travel beside the text as binary parameters; they never become part of it:
/// ```swift
/// "SELECT spec FROM jobs WHERE id = \(id) AND state = ANY(\(states))"
/// ```
/// The text between the values is kept as the static strings of the source, so a query that runs thousands of times
/// a second never builds its text again: connections recognize it by the addresses of its literals. A `Query` can be
/// interpolated into another; parameters are numbered when the text is rendered.
package struct Query: ExpressibleByStringInterpolation, Sendable {
    /// Without a reference, so that pieces are copied as bytes.
    enum Piece: Sendable {
        case literal(StaticString)
        /// A text by its place in `texts`.
        case text(Int)
        case parameter
    }

    struct Parameter: Sendable {
        let type: PostgresType.ID
        let isNull: Bool
        /// Where its bytes begin in `values`; they end where the next one's begin.
        var start: Int
    }

    private(set) var pieces: [Piece] = []
    /// The pieces that were made at run time.
    private(set) var texts: [String] = []
    private(set) var parameters: [Parameter] = []
    private(set) var values = ParameterWriter()
    /// A hash of what `key` compares; kept up while the query is built.
    private(set) var fingerprint: UInt = 0

    package init(stringLiteral literal: StaticString) { append(literal) }

    package init(stringInterpolation: Interpolation) { self = stringInterpolation.query }

    /// A query whose text was made at run time.
    ///
    /// It is not kept prepared.
    ///
    /// Never put a value into the text; interpolate the query into one with values instead.
    package init(verbatim text: String) { appendText(text) }

    /// A quoted name: a table, a channel, a database.
    package static func identifier(_ name: String) -> Query {
        Query(
            verbatim: "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
                + "\"")
    }

    /// Whether the text is made of literals only, so that keeping it prepared is bounded by the source code.
    var isStatic: Bool { texts.isEmpty }

    /// The text with numbered parameters.
    var sql: String {
        var sql = ""
        var number = 0
        for piece in pieces {
            switch piece {
            case .literal(let literal): sql += literal.description
            case .text(let place): sql += texts[place]
            case .parameter:
                number += 1
                sql += "$\(number)"
            }
        }
        return sql
    }

    /// The name that the text begins with, as `-- jobs.claim`; nil when it has none.
    var name: String? {
        guard case .literal(let literal)? = pieces.first else { return nil }
        return literal.withUTF8Buffer { text in
            guard text.starts(with: "-- ".utf8), let end = text.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            return String(decoding: text[3..<end], as: UTF8.self)
        }
    }

    // MARK: Building

    private mutating func mix(_ value: UInt) {
        fingerprint = (fingerprint ^ value) &* 0x9E37_79B9_7F4A_7C15
    }

    private mutating func append(_ literal: StaticString) {
        guard literal.utf8CodeUnitCount > 0 else { return }
        guard literal.hasPointerRepresentation else {
            appendText(literal.description)
            return
        }
        pieces.append(.literal(literal))
        mix(UInt(bitPattern: literal.utf8Start))
    }

    private mutating func appendText(_ text: String) {
        pieces.append(.text(texts.count))
        texts.append(text)
    }

    private mutating func append(_ value: some PostgresValue) {
        let type = Swift.type(of: value).postgresType.id
        pieces.append(.parameter)
        parameters.append(Parameter(type: type, isNull: value.isNull, start: values.bytes.count))
        mix(UInt(type))
        if !value.isNull { value.encode(into: &values) }
    }

    private mutating func append(_ array: EncodedArray) {
        pieces.append(.parameter)
        parameters.append(Parameter(type: array.type, isNull: false, start: values.bytes.count))
        mix(UInt(array.type))
        values.append(contentsOf: array.writer)
    }

    private mutating func append(_ query: Query) {
        if query.isStatic {
            pieces += query.pieces
        } else {
            for piece in query.pieces {
                if case .text(let place) = piece { appendText(query.texts[place]) } else { pieces.append(piece) }
            }
        }
        for var parameter in query.parameters {
            parameter.start += values.bytes.count
            parameters.append(parameter)
        }
        values.append(contentsOf: query.values)
        mix(query.fingerprint)
    }

    /// Collects the parts that the compiler finds in an interpolated literal.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var query = Query()

        package init(literalCapacity: Int, interpolationCount: Int) {
            query.pieces.reserveCapacity(interpolationCount * 2 + 1)
            query.parameters.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) { query.append(literal) }

        /// A value; it becomes a parameter of its type.
        package mutating func appendInterpolation(_ value: some PostgresValue) { query.append(value) }

        /// A value or, when there is none, NULL of its type.
        package mutating func appendInterpolation(_ value: (some PostgresValue)?) { query.append(value) }

        /// An array; it becomes a parameter of its type.
        package mutating func appendInterpolation(_ array: EncodedArray) { query.append(array) }

        /// A piece of SQL with values of its own.
        package mutating func appendInterpolation(_ fragment: Query) { query.append(fragment) }
    }

    package typealias StringInterpolation = Interpolation

    private init() {}
}

extension Query {
    /// The identity of a prepared statement: the same literals with the same types.
    struct Key: Hashable {
        let query: Query

        func hash(into hasher: inout Hasher) { hasher.combine(query.fingerprint) }

        static func == (left: Key, right: Key) -> Bool {
            left.query.pieces.count == right.query.pieces.count
                && left.query.parameters.elementsEqual(right.query.parameters) { $0.type == $1.type }
                && left.query.texts == right.query.texts
                && zip(left.query.pieces, right.query.pieces).allSatisfy(isSame)
        }

        private static func isSame(_ left: Piece, _ right: Piece) -> Bool {
            switch (left, right) {
            case (.literal(let left), .literal(let right)):
                left.utf8Start == right.utf8Start && left.utf8CodeUnitCount == right.utf8CodeUnitCount
            case (.text(let left), .text(let right)): left == right
            case (.parameter, .parameter): true
            default: false
            }
        }
    }

    /// The key without the values, for keeping.
    var key: Key {
        var query = self
        query.values = ParameterWriter()
        return Key(query: query)
    }

    /// The key for looking up; it holds the values as long as it lives.
    var lookupKey: Key { Key(query: self) }

    /// Calls `body` with the parameters as libpq takes them.
    func withParameters<R>(
        _ body: (
            _ count: Int32, _ types: UnsafePointer<PostgresType.ID>?, _ values: UnsafePointer<UnsafePointer<CChar>?>?,
            _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?
        ) -> R
    ) -> R {
        let count = parameters.count
        guard count > 0 else { return body(0, nil, nil, nil, nil) }
        return values.bytes.withUnsafeBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { pointers in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 3) { numbers in
                    let types = UnsafeMutableRawPointer(numbers.baseAddress! + 2 * count)
                        .bindMemory(to: PostgresType.ID.self, capacity: count)
                    for (index, parameter) in parameters.enumerated() {
                        let end = index + 1 < count ? parameters[index + 1].start : bytes.count
                        pointers[index] = parameter.isNull ? nil : Self.address(of: parameter.start, in: bytes)
                        numbers[index] = Int32(end - parameter.start)
                        numbers[count + index] = 1
                        types[index] = parameter.type
                    }
                    return body(
                        Int32(count), types, pointers.baseAddress, numbers.baseAddress, numbers.baseAddress! + count)
                }
            }
        }
    }

    /// A null pointer means NULL to libpq, so an empty value needs an address too.
    private static func address(of offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> UnsafePointer<CChar> {
        guard let base = bytes.baseAddress, offset < bytes.count else { return emptyValue }
        return UnsafeRawPointer(base + offset).assumingMemoryBound(to: CChar.self)
    }

    private static var emptyValue: UnsafePointer<CChar> {
        let empty: StaticString = "."
        return UnsafeRawPointer(empty.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
