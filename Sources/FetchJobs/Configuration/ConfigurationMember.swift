package import FetchEngine

/// One member of a group: its name, its rule, and its setting of a session of the engine.
///
/// Reading, writing, merging, applying and explaining a configuration all use this one definition.
package struct ConfigurationMember<Group: Sendable>: Sendable {
    package let name: String
    let isSet: @Sendable (Group) -> Bool
    let read: @Sendable (JSONReader, inout Group) -> Void
    /// Writes the value, or `null` when there is none.
    let write: @Sendable (Group, inout JSONWriter) -> Void
    /// Copies the value from one group to another.
    let copy: @Sendable (Group, inout Group) -> Void
    /// Puts the value, when there is one, in place of the engine's.
    let apply: @Sendable (Group, inout SessionConfiguration) -> Void
    /// Takes the value that the engine uses.
    let take: @Sendable (SessionConfiguration, inout Group) -> Void

    /// Declares a member by its effect.
    init<Value: Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Group, Value?> & Sendable,
        _ rule: ConfigurationRule<Value>,
        get: @escaping @Sendable (SessionConfiguration) -> Value?,
        set: @escaping @Sendable (Value, inout SessionConfiguration) -> Void
    ) {
        self.name = name
        isSet = { $0[keyPath: path] != nil }
        read = { reader, group in group[keyPath: path] = rule.read(reader) }
        write = { group, writer in
            if let value = group[keyPath: path] { rule.write(value, &writer) } else { writer.null() }
        }
        copy = { source, group in group[keyPath: path] = source[keyPath: path] }
        apply = { group, configuration in
            if let value = group[keyPath: path] { set(value, &configuration) }
        }
        take = { configuration, group in group[keyPath: path] = get(configuration) }
    }

    /// Declares a member that is one setting of the engine.
    init<Value: Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Group, Value?> & Sendable,
        _ rule: ConfigurationRule<Value>,
        _ setting: any WritableKeyPath<SessionConfiguration, Value> & Sendable
    ) {
        self.init(
            name, path, rule, get: { $0[keyPath: setting] }, set: { value, engine in engine[keyPath: setting] = value })
    }

    /// Declares a member that is one setting of the engine, which may be nil there.
    init<Value: Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Group, Value?> & Sendable,
        _ rule: ConfigurationRule<Value>,
        optional setting: any WritableKeyPath<SessionConfiguration, Value?> & Sendable
    ) {
        self.init(
            name, path, rule, get: { $0[keyPath: setting] }, set: { value, engine in engine[keyPath: setting] = value })
    }
}

/// Members that belong together: `redirects`, `timeouts`, and so on.
package protocol ConfigurationGroup: Sendable, Equatable {
    /// Nothing is set.
    init()

    static var members: [ConfigurationMember<Self>] { get }

    /// Whether a group replaces that of a lower layer as a whole, because its members have a meaning only together.
    static var isWhole: Bool { get }

    /// The members that a client may look for here and that there are not, each with the reason.
    static var refused: KeyValuePairs<String, String> { get }

    /// Tells the reader which rules between members are broken.
    func check(_ reader: JSONReader)

    /// Puts the values that are set in place of the engine's settings.
    func apply(to configuration: inout SessionConfiguration)
}

extension ConfigurationGroup {
    package static var isWhole: Bool { false }

    package static var refused: KeyValuePairs<String, String> { [:] }

    package func check(_ reader: JSONReader) {}

    package func apply(to configuration: inout SessionConfiguration) {
        for member in Self.members { member.apply(self, &configuration) }
    }

    init(reader: JSONReader) {
        self.init()
        guard let object = reader.object(of: Set(Self.members.map(\.name)), refusing: Self.refused) else { return }
        for member in Self.members {
            if let reader = object[member.name] { member.read(reader, &self) }
        }
        check(reader)
    }

    /// The group alone, as ``init(stored:)`` reads it back.
    package var json: RawJSON { RawJSON(JSONWriter.object(write)) }

    /// - Throws: ``InvalidInput`` when it breaks a rule.
    package init(stored json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        self.init(reader: JSONReader(json, check: check))
        try check.finish()
    }

    func write(_ writer: inout JSONWriter) {
        for member in Self.members where member.isSet(self) {
            writer.name(member.name)
            member.write(self, &writer)
        }
    }

    /// Takes over the values that an upper layer sets.
    ///
    /// - Parameter upper: Its group, of which something is set.
    mutating func override(by upper: Self) {
        if Self.isWhole { self = Self() }
        for member in Self.members where member.isSet(upper) { member.copy(upper, &self) }
    }
}
