package import FetchEngine

/// What an API key is made with: its name, what it may do, and what it is bound to.
package struct APIKeySpec: Sendable, Equatable {
    package static let maximumHosts = 50
    package static let maximumName = 100
    package static let jobs: ClosedRange<Int64> = 1...1_000_000_000

    package var name: String
    /// At least one.
    package var scopes: Set<Scope>
    /// The only session whose jobs it submits and sees; nil for every session.
    package var session: TenantSession.ID?
    /// The only hosts that its jobs load from; nil for every host.
    package var hosts: [HostPattern]?
    /// The same as text; nil for every host.
    package var hostNames: String? { hosts?.map(\.description).joined(separator: ", ") }
    /// How many jobs may be submitted and retried with it in all; nil for any number.
    package var maximumJobs: Int64?
    /// When it stops being valid; nil for never.
    package var expiresAt: Timestamp?

    package init(
        name: String, scopes: Set<Scope> = .tenant, session: TenantSession.ID? = nil, hosts: [HostPattern]? = nil,
        maximumJobs: Int64? = nil, expiresAt: Timestamp? = nil
    ) {
        self.name = name
        self.scopes = scopes
        self.session = session
        self.hosts = hosts
        self.maximumJobs = maximumJobs
        self.expiresAt = expiresAt
    }

    // MARK: JSON

    /// Reads and checks the body of a request for a new key.
    ///
    /// - Parameter others: Members of the object that are read elsewhere.
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue, besides others: Set<String> = []) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(
            of: ["name", "scopes", "session", "hosts", "maximumJobs", "expiresAt"], besides: others)
        let name = object?.required("name")?.keyName()
        let scopes = object?.required("scopes")?.scopes()
        session = object?["session"]?.session()
        hosts = object?["hosts"]?.keyHosts()
        maximumJobs = object?["maximumJobs"]?.integer(in: Self.jobs)
        expiresAt = object?["expiresAt"].flatMap { reader in
            guard let time = reader.timestamp() else { return nil }
            if time <= .now { reader.refuse("must be in the future") }
            return time
        }
        try check.finish()
        guard let name, let scopes else { throw InvalidInput(pointer: "", message: "is not a key") }
        (self.name, self.scopes) = (name, scopes)
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("scopes", array: { writer in scopes.sorted.forEach { writer.value($0.rawValue) } })
        writer.member("session", session?.name)
        if let hosts { writer.member("hosts", array: { writer in hosts.forEach { writer.value($0.description) } }) }
        writer.member("maximumJobs", maximumJobs)
        writer.member("expiresAt", expiresAt?.description)
    }

    // MARK: Rights

    /// Where these rights go beyond those of another key; empty when they lie within them.
    package func excess(over own: APIKeySpec) -> [Violation] {
        var violations: [Violation] = []
        func refuse(_ pointer: String, _ message: String) {
            violations.append(Violation(pointer: pointer, message: message))
        }
        let missing = scopes.subtracting(own.scopes).sorted.map(\.rawValue)
        if !missing.isEmpty { refuse("/scopes", "go beyond those of your key: \(missing.joined(separator: ", "))") }
        if let bound = own.session, session != bound {
            refuse("/session", "must be \(bound.name), as for your key")
        }
        if let bound = own.hosts, hosts.map({ !Set($0).isSubset(of: bound) }) ?? true {
            refuse("/hosts", "must be among those of your key: \(bound.map(\.description).joined(separator: ", "))")
        }
        if let bound = own.maximumJobs, maximumJobs.map({ $0 > bound }) ?? true {
            refuse("/maximumJobs", "must be at most \(bound), as for your key")
        }
        if let end = own.expiresAt, expiresAt.map({ $0 > end }) ?? true {
            refuse("/expiresAt", "must be no later than \(end), when your key expires")
        }
        return violations
    }
}

extension JSONReader {
    fileprivate func keyName() -> String? {
        guard let name = string(maximumLength: APIKeySpec.maximumName) else { return nil }
        guard !name.isEmpty, name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            refuse("must have a character, and none that controls")
            return nil
        }
        return name
    }

    fileprivate func scopes() -> Set<Scope>? {
        guard let elements = array(maximum: Scope.allCases.count) else { return nil }
        if elements.isEmpty { refuse("must name at least one scope") }
        return Set(elements.compactMap { $0.oneOf(Scope.self) })
    }

    fileprivate func keyHosts() -> [HostPattern]? {
        guard let elements = array(maximum: APIKeySpec.maximumHosts) else { return nil }
        if elements.isEmpty { refuse("must name at least one host") }
        return elements.compactMap { reader in
            guard let text = reader.string(maximumLength: 260) else { return nil }
            let pattern = HostPattern(text)
            if pattern == nil {
                reader.refuse(
                    "must be a host, \"*.\" and a host, \"*\" or a block of addresses, with a port or without")
            }
            return pattern
        }
    }
}
