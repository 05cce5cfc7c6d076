import FetchEngine

extension AuditEntry {
    /// The entry as sinks write it, and as operators export it: a JSON text without a line break.
    package var line: [UInt8] { JSONWriter.object { write(&$0, isForOperators: true) } }

    /// The entry of such a line.
    ///
    /// - Returns: nil when it is none, or one of a tenant's own export, which does not name its chain.
    package init?(line: some Sequence<UInt8>) {
        guard let json = try? JSONParser.parse(line), case .object(let members) = json else { return nil }
        let entry = Members(members)
        guard let id = entry.text("id").flatMap({ ID($0) }), let chain = entry.integer("chain"),
            let sequence = entry.integer("sequence"), let at = entry.time("at"), let count = entry.integer("count"),
            case .object(let actor)? = entry["actor"], let kind = Members(actor).text("kind"),
            let action = entry.text("action"), let hash = entry.text("hash").flatMap({ Hexadecimal.decode($0.utf8) })
        else { return nil }
        let details = entry["details"].map { value in
            var writer = JSONWriter()
            writer.value(value)
            return RawJSON(writer.bytes)
        }
        self.init(
            id: id, chain: Tenant.ID(rawValue: chain), tenant: entry.text("tenant"), sequence: sequence, at: at,
            until: entry.time("until"), count: count, actor: kind, key: Members(actor).text("key"),
            signIn: Members(actor).text("signIn"), client: Members(actor).text("client"),
            request: Members(actor).text("request"), action: action, object: entry.text("object"), details: details,
            hash: hash)
    }
}

/// The members of an object, by name.
private struct Members {
    private let members: [JSONMember]

    init(_ members: [JSONMember]) { self.members = members }

    subscript(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    func text(_ name: String) -> String? {
        guard case .string(let text)? = self[name] else { return nil }
        return text
    }

    func integer(_ name: String) -> Int64? {
        guard case .number(let number)? = self[name] else { return nil }
        return number.integer
    }

    func time(_ name: String) -> Timestamp? { text(name).flatMap { Timestamp(rfc3339: $0) } }
}
