/// The rules of the service: they come after those of a job and its session, for the jobs of all tenants.
package struct ServiceRules: Sendable {
    /// Their number of changes: who replaces them can name the one that it has seen.
    package let version: Int64
    package let rules: [Rule]
    private let matches: [RuleBook.Match]
    private let ofBackgroundSessions: [RuleBook.Match]

    package init(_ rules: [Rule] = [], version: Int64 = 0) {
        self.rules = rules
        self.version = version
        matches = RuleBook.Match.all(of: rules, .service)
        ofBackgroundSessions = matches.filter { SessionSpec.Kind.background.refusal(of: $0.rule.on) == nil }
    }

    /// Those that apply to jobs of sessions of a kind: what cannot come up there is not asked (BKG-5).
    package func matches(in kind: SessionSpec.Kind) -> [RuleBook.Match] {
        kind == .background ? ofBackgroundSessions : matches
    }

    /// Reads a JSON object with the rules as `rules`.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package static func rules(json: JSONValue) throws(InvalidInput) -> [Rule] {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["rules"])
        let rules = object?.required("rules").flatMap { read($0) } ?? []
        try check.finish()
        return rules
    }

    /// Reads the list that ``list`` writes.
    package init(stored: RawJSON, version: Int64) throws {
        let check = InputCheck()
        let rules = Self.read(JSONReader(try JSONParser.parse(stored.bytes), check: check)) ?? []
        try check.finish()
        self.init(rules, version: version)
    }

    private static func read(_ reader: JSONReader) -> [Rule]? {
        reader.array(maximum: Rule.maximumRules)?.compactMap { Rule(reader: $0, in: .service) }
    }

    package static func list(_ rules: [Rule]) -> RawJSON {
        RawJSON.array { writer in for rule in rules { writer.object(rule.write) } }
    }

    package func write(_ writer: inout JSONWriter) { writer.member("rules", Self.list(rules)) }
}

/// Where the rules of the service are; a change is known to all nodes within moments.
package protocol ServiceRuleStore: Sendable {
    func serviceRules() async throws(StoreError) -> ServiceRules

    /// Puts others in place of all of them.
    ///
    /// - Parameter version: That of those which are replaced; nil for whichever there are.
    /// - Returns: Nil when they have another version.
    func replaceServiceRules(
        _ version: Int64?, with rules: [Rule]
    ) async throws(StoreError) -> ServiceRules?
}
