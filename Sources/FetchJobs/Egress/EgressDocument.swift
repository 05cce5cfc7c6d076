package import FetchEngine

/// What an operator has stored of where loads may go: for all tenants, or for one.
package struct EgressDocument: Sendable {
    /// How many rules both lists have together.
    package static let maximumRules = 1000
    /// How many hosts, addresses or ports one rule has.
    package static let maximumElements = 1000
    /// How many bytes the request has that replaces one.
    package static let maximumBytes = 256 * 1024

    /// Nil when there is none, or none any more.
    package let rules: TargetRules?
    /// Raised by every change, so that who replaces it can name the one that it has seen; 0 before the first.
    package let version: Int64

    package init(_ rules: TargetRules? = nil, version: Int64 = 0) {
        self.rules = rules
        self.version = version
    }

    /// Reads what ``text(of:)`` writes.
    package init(stored: RawJSON?, version: Int64) throws {
        self.init(try stored.map { try Self.rules(json: try JSONParser.parse($0.bytes)) }, version: version)
    }

    package static func text(of rules: TargetRules) -> RawJSON { RawJSON(JSONWriter.object(rules.write)) }

    /// Writes the rules; those that deny nothing where there is none.
    package func write(_ writer: inout JSONWriter) { (rules ?? TargetRules()).write(&writer) }

    /// Reads and checks the body of a request.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package static func rules(json: JSONValue) throws(InvalidInput) -> TargetRules {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["mode", "allow", "deny"])
        let mode = object?.required("mode").flatMap { $0.oneOf(TargetRules.Mode.self) }
        let (allow, deny) = (object?["allow"]?.targetRules() ?? [], object?["deny"]?.targetRules() ?? [])
        if allow.count + deny.count > maximumRules {
            check.refuse("", "has more than \(maximumRules) rules in both lists together")
        }
        try check.finish()
        guard let mode else { throw InvalidInput(pointer: "/mode", message: "is required") }
        return TargetRules(mode: mode, allow: allow, deny: deny)
    }
}

extension TargetRules {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("mode", mode.rawValue)
        writer.member("allow", array: { writer in allow.forEach { writer.object($0.write) } })
        writer.member("deny", array: { writer in deny.forEach { writer.object($0.write) } })
    }
}

extension TargetRule {
    fileprivate enum Scheme: String, CaseIterable { case http, https, ftp, ftps }

    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        func list(_ name: String, _ values: [String]) {
            guard !values.isEmpty else { return }
            writer.member(name, array: { writer in values.forEach { writer.value($0) } })
        }
        list("hosts", hosts.map(\.description))
        list("addresses", addresses.map(\.description))
        if !ports.isEmpty {
            writer.member("ports", array: { writer in ports.forEach { writer.value(Int64($0)) } })
        }
        list("schemes", schemes)
    }
}

extension JSONReader {
    fileprivate func targetRules() -> [TargetRule]? {
        array(maximum: EgressDocument.maximumRules)?.compactMap { $0.targetRule() }
    }

    private func targetRule() -> TargetRule? {
        guard let object = object(of: ["name", "hosts", "addresses", "ports", "schemes"]) else { return nil }
        let most = EgressDocument.maximumElements
        let rule = TargetRule(
            name: object["name"].flatMap { $0.ruleName() },
            hosts: object["hosts"]?.some(upTo: most) { $0.ruleHost() } ?? [],
            addresses: object["addresses"]?.some(upTo: most) { $0.ruleAddresses() } ?? [],
            ports: object["ports"]?.some(upTo: most) { $0.integer(in: 1...65_535) }?.map(UInt16.init(clamping:)) ?? [],
            schemes: object["schemes"]?.some(upTo: TargetRule.Scheme.allCases.count) {
                $0.oneOf(TargetRule.Scheme.self)
            }?.map(\.rawValue) ?? [])
        let conditions = ["hosts", "addresses", "ports", "schemes"]
        if !conditions.contains(where: { object[$0] != nil }) {
            refuse("must have at least one of \(conditions.joined(separator: ", ")): without them it is for everything")
        }
        return rule
    }

    /// The elements of an array, of which there is at least one: none would be read as all.
    private func some<Element>(upTo maximum: Int, _ read: (JSONReader) -> Element?) -> [Element]? {
        guard let elements = array(maximum: maximum) else { return nil }
        guard !elements.isEmpty else {
            refuse("must not be empty: leave it out where the rule is for all of them")
            return nil
        }
        return elements.compactMap(read)
    }

    /// A word for a rule, which the errors of jobs repeat.
    private func ruleName() -> String? {
        guard let text = string(maximumLength: 64) else { return nil }
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
            default: true
            }
        }
        guard !text.isEmpty, isPlain else {
            refuse("must be a text of 1 to 64 bytes without control characters")
            return nil
        }
        return text
    }

    private func ruleHost() -> HostPattern? {
        guard let text = string(maximumLength: 1024) else { return nil }
        if let host = TargetRule.host(text) { return host }
        if IPPrefix(text.filter { $0 != "[" && $0 != "]" }) != nil {
            refuse("is an address, which belongs into addresses")
        } else {
            refuse(
                "must be a host name, or \"*.\" and a host name for all below it, without scheme and port; leave hosts out "
                    + "where the rule is for all of them")
        }
        return nil
    }

    private func ruleAddresses() -> IPPrefix? {
        guard let text = string(maximumLength: 64) else { return nil }
        guard let prefix = IPPrefix(text) else {
            refuse(
                "must be an address, or a block in CIDR notation such as 192.0.2.0/24 or 2001:db8::/32, in which no bit "
                    + "beyond the length is set")
            return nil
        }
        return prefix
    }
}
