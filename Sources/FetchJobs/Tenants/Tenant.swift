/// The owner of everything a client can see.
package struct Tenant: Sendable, Equatable {
    /// The tenant's number: the first column of every key.
    package struct ID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package let rawValue: Int64

        package init(rawValue: Int64) { self.rawValue = rawValue }

        package var description: String { String(rawValue) }
    }

    package let id: ID
    package let name: String

    package init(id: ID, name: String) {
        self.id = id
        self.name = name
    }
}
