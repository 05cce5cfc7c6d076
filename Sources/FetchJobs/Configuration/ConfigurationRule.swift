import FetchEngine

/// How a value stands in JSON, and which values are allowed.
package struct ConfigurationRule<Value: Sendable>: Sendable {
    /// The value, or nil after the reader has heard why there is none.
    let read: @Sendable (JSONReader) -> Value?
    let write: @Sendable (Value, inout JSONWriter) -> Void

    /// A value with a name of its own among a few.
    static func choice(_ choices: KeyValuePairs<String, Value>) -> Self where Value: Equatable {
        let choices = choices.map { (name: $0.key, value: $0.value) }
        return Self(
            read: { reader in
                guard let text = reader.string() else { return nil }
                guard let choice = choices.first(where: { $0.name.isSame(as: text) }) else {
                    reader.refuse("must be one of \(choices.map { "\"\($0.name)\"" }.joined(separator: ", "))")
                    return nil
                }
                return choice.value
            },
            write: { value, writer in
                guard let choice = choices.first(where: { $0.value == value }) else { return writer.null() }
                writer.value(choice.name)
            }
        )
    }

    /// A value written as one string.
    ///
    /// - Parameters:
    ///   - rule: The message for a string that is no such value.
    ///   - parse: The value, or nil when the string is none.
    ///   - text: The string for a value, which `parse` reads back.
    static func text(
        upTo maximumLength: Int,
        _ rule: String,
        parse: @escaping @Sendable (String) -> Value?,
        text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(
            read: { reader in
                guard let string = reader.string(maximumLength: maximumLength) else { return nil }
                let value = parse(string)
                if value == nil { reader.refuse(rule) }
                return value
            },
            write: { value, writer in writer.value(text(value)) }
        )
    }

    /// A list of values, in order.
    static func list<Element>(of rule: ConfigurationRule<Element>, upTo maximum: Int) -> Self
    where Value == [Element] {
        Self(
            read: { reader in reader.array(maximum: maximum)?.compactMap { rule.read($0) } },
            write: { values, writer in
                writer.array { writer in
                    for value in values { rule.write(value, &writer) }
                }
            }
        )
    }
}

extension ConfigurationRule where Value: RawRepresentable<String> & CaseIterable {
    /// Any case of an enumeration, by its name.
    static var anyCase: Self {
        Self(read: { $0.oneOf(Value.self) }, write: { value, writer in writer.value(value.rawValue) })
    }
}

extension ConfigurationRule where Value == Bool {
    static var bool: Self { Self(read: { $0.bool() }, write: { value, writer in writer.value(value) }) }
}

extension ConfigurationRule where Value == [String: String] {
    /// So many texts at most, each with a name.
    static func texts(upTo maximum: Int) -> Self {
        Self(
            read: { reader in
                guard let members = reader.dictionary() else { return nil }
                if members.count > maximum { reader.refuse("has more than \(maximum) members") }
                let texts = members.compactMap { name, reader in
                    if name.utf8.count > 64 { reader.refuse("a name has 64 bytes at most") }
                    return reader.string(maximumLength: 1024).map { (name, $0) }
                }
                return Dictionary(texts, uniquingKeysWith: { $1 })
            },
            write: { texts, writer in
                writer.object { writer in
                    for (name, text) in texts.sorted(by: { $0.key < $1.key }) { writer.member(name, text) }
                }
            }
        )
    }
}

extension ConfigurationRule where Value: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Int64>) -> Self {
        Self(
            read: { $0.integer(in: range).flatMap { Value(exactly: $0) } },
            write: { value, writer in writer.value(value) }
        )
    }
}

extension ConfigurationRule where Value == Duration {
    /// Seconds, from a millisecond to a year, kept to the microsecond.
    static var seconds: Self {
        Self(
            read: { $0.seconds(in: 0.001...31_536_000) },
            write: { value, writer in writer.value(value.seconds) }
        )
    }
}

extension ConfigurationRule where Value == Set<String> {
    /// The names or addresses of hosts, as URLs spell them.
    static func hosts(upTo maximum: Int) -> Self {
        let host = ConfigurationRule<String>.text(
            upTo: 253,
            "must be a host name or an address (hostInvalid)",
            parse: { text in
                guard let url = try? URLRecord("http://\(text)/"), url.path == "/", !url.hasCredentials, url.port == nil
                else { return nil }
                return url.host.flatMap { $0.isEmpty ? nil : $0 }
            },
            text: { $0 }
        )
        let list = ConfigurationRule<[String]>.list(of: host, upTo: maximum)
        return Self(
            read: { list.read($0).map { Set($0) } }, write: { hosts, writer in list.write(hosts.sorted(), &writer) })
    }
}

extension ConfigurationRule where Value == HostPattern {
    static var hostPattern: Self {
        .text(
            upTo: 260,
            "must be a host, \"*.\" and a host, \"*\", or a block of addresses (hostInvalid)",
            parse: { HostPattern($0) },
            text: { $0.description }
        )
    }
}
