/// A statement the server keeps for one connection.
final class PreparedStatement {
    let name: String
    fileprivate let key: Query.Key

    fileprivate init(name: String, key: Query.Key) {
        self.name = name
        self.key = key
    }
}

/// The statements the server keeps for one connection.
struct PreparedStatements {
    /// Each holds a plan in the server's memory; queries composed in ever new ways must not fill it.
    private static let limit = 256

    private var statements: [Query.Key: PreparedStatement] = [:]
    private var lastNumber = 0

    subscript(query: Query) -> PreparedStatement? { statements[query.lookupKey] }

    /// A new statement for a query, to be prepared; nil when there are enough.
    mutating func insert(_ query: Query) -> PreparedStatement? {
        guard statements.count < Self.limit else { return nil }
        lastNumber += 1
        let statement = PreparedStatement(name: "s\(lastNumber)", key: query.key)
        statements[statement.key] = statement
        return statement
    }

    mutating func remove(_ statement: PreparedStatement) {
        if statements[statement.key] === statement { statements[statement.key] = nil }
    }
}
