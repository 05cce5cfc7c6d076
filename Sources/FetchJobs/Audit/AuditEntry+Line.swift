import FetchEngine

extension AuditEntry {
    /// The entry as sinks write it, and as operators export it: a JSON text without a line break.
    package var line: [UInt8] { JSONWriter.object { write(&$0, isForOperators: true) } }

    /// The entry of such a line.
    ///
    /// - Returns: nil when it is none, or one of a tenant's own export, which does not name its chain.
    package init?(line: some Sequence<UInt8>) {
        guard let entry = try? JSONParser.parse(line) else { return nil }
        func text(_ name: String) -> String? { entry.member(name)?.text }
        func integer(_ name: String) -> Int64? { entry.member(name)?.integer }
        func time(_ name: String) -> Timestamp? { text(name).flatMap { Timestamp(rfc3339: $0) } }
        func actor(_ name: String) -> String? { entry.member("actor")?.member(name)?.text }
        guard let id = text("id").flatMap({ ID($0) }), let chain = integer("chain"),
            let sequence = integer("sequence"), let at = time("at"), let count = integer("count"),
            let kind = actor("kind"), let action = text("action"),
            let hash = text("hash").flatMap({ Hexadecimal.decode($0.utf8) })
        else { return nil }
        let details = entry.member("details").map { value in
            var writer = JSONWriter()
            writer.value(value)
            return RawJSON(writer.bytes)
        }
        self.init(
            id: id, chain: Tenant.ID(rawValue: chain), tenant: text("tenant"), sequence: sequence, at: at,
            until: time("until"), count: count, actor: kind, key: actor("key"), signIn: actor("signIn"),
            client: actor("client"), request: actor("request"), action: action, object: text("object"),
            details: details, hash: hash)
    }
}
