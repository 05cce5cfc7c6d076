package import FetchEngine

/// How to load: the one schema of sessions and jobs.
///
/// Every member may be left out: the job then has the value of its session, and the session the default of the service.
package struct Configuration: Sendable, Equatable {
    package var request = Request()
    package var redirects = Redirects()
    package var authentication = Authentication()
    package var serverTrust = ServerTrust()
    package var cookies = Cookies()
    package var cache = Cache()
    package var proxy = Proxy()
    package var tls = TLS()
    package var timeouts = Timeouts()
    package var connections = Connections()
    package var background = Background()
    package var response = Response()
    package var upload = Upload()
    package var destination = Destination()
    package var retry = Retry()
    /// Answers in advance; the first rule whose conditions a question meets decides.
    package var rules: [Rule] = []
    package var delegate = Delegate()

    package init() {}

    /// Every group, by its name in JSON.
    static let groups: [AnyConfigurationGroup] = [
        AnyConfigurationGroup("request", \.request),
        AnyConfigurationGroup("redirects", \.redirects),
        AnyConfigurationGroup("authentication", \.authentication),
        AnyConfigurationGroup("serverTrust", \.serverTrust),
        AnyConfigurationGroup("cookies", \.cookies),
        AnyConfigurationGroup("cache", \.cache),
        AnyConfigurationGroup("proxy", \.proxy),
        AnyConfigurationGroup("tls", \.tls),
        AnyConfigurationGroup("timeouts", \.timeouts),
        AnyConfigurationGroup("connections", \.connections),
        AnyConfigurationGroup("background", \.background),
        AnyConfigurationGroup("response", \.response),
        AnyConfigurationGroup("upload", \.upload),
        AnyConfigurationGroup("destination", \.destination),
        AnyConfigurationGroup("retry", \.retry),
        .rules,
        AnyConfigurationGroup("delegate", \.delegate),
    ]

    private static let groupNames = Set(groups.map(\.name))

    /// Nothing is set.
    package var isEmpty: Bool { self == Configuration() }

    package init(reader: JSONReader) {
        guard let object = reader.object(of: Self.groupNames) else { return }
        for group in Self.groups {
            if let reader = object[group.name] { group.read(reader, &self) }
        }
    }

    package func write(_ writer: inout JSONWriter) {
        for group in Self.groups { group.write(self, &writer) }
    }

    /// Takes over the members that an upper layer sets.
    package mutating func override(by upper: Configuration) {
        guard !upper.isEmpty else { return }
        for group in Self.groups { group.override(&self, upper) }
    }

    /// The settings of a session of the engine, as far as this schema has them.
    package init(of engine: SessionConfiguration) {
        for group in Self.groups { group.take(engine, &self) }
    }
}

extension SessionConfiguration {
    /// This configuration with the settings of another one in place of its own.
    package func overridden(by configuration: Configuration) -> SessionConfiguration {
        guard !configuration.isEmpty else { return self }
        var result = self
        for group in Configuration.groups { group.apply(configuration, &result) }
        return result
    }
}

/// A group of the schema without its type.
struct AnyConfigurationGroup: Sendable {
    let name: String
    let read: @Sendable (JSONReader, inout Configuration) -> Void
    /// Writes the group as a member, unless nothing of it is set.
    let write: @Sendable (Configuration, inout JSONWriter) -> Void
    let override: @Sendable (inout Configuration, Configuration) -> Void
    let apply: @Sendable (Configuration, inout SessionConfiguration) -> Void
    let take: @Sendable (SessionConfiguration, inout Configuration) -> Void
    /// Writes each member of the group as its value and the level that set it.
    let explain: @Sendable ([EffectiveConfiguration.Layer], inout JSONWriter) -> Void

    init(
        name: String,
        read: @escaping @Sendable (JSONReader, inout Configuration) -> Void,
        write: @escaping @Sendable (Configuration, inout JSONWriter) -> Void,
        override: @escaping @Sendable (inout Configuration, Configuration) -> Void,
        apply: @escaping @Sendable (Configuration, inout SessionConfiguration) -> Void,
        take: @escaping @Sendable (SessionConfiguration, inout Configuration) -> Void,
        explain: @escaping @Sendable ([EffectiveConfiguration.Layer], inout JSONWriter) -> Void
    ) {
        self.name = name
        (self.read, self.write, self.override) = (read, write, override)
        (self.apply, self.take, self.explain) = (apply, take, explain)
    }

    init<Group: ConfigurationGroup>(_ name: String, _ path: any WritableKeyPath<Configuration, Group> & Sendable) {
        self.name = name
        read = { reader, configuration in configuration[keyPath: path] = Group(reader: reader) }
        write = { configuration, writer in
            let group = configuration[keyPath: path]
            if group != Group() { writer.member(name, object: group.write) }
        }
        override = { configuration, upper in configuration[keyPath: path].override(by: upper[keyPath: path]) }
        apply = { configuration, engine in configuration[keyPath: path].apply(to: &engine) }
        take = { engine, configuration in
            for member in Group.members { member.take(engine, &configuration[keyPath: path]) }
        }
        explain = { layers, writer in
            let groups = layers.map { ($0.source, $0.configuration[keyPath: path]) }
            let whole = Group.isWhole ? groups.first { $0.1 != Group() } : nil
            writer.object { writer in
                for member in Group.members {
                    writer.member(
                        member.name,
                        object: { writer in
                            let setter = whole ?? groups.first(where: { member.isSet($0.1) }) ?? groups.last
                            guard let (source, group) = setter else { return }
                            writer.name("value")
                            member.write(group, &writer)
                            writer.member("from", source.rawValue)
                        })
                }
            }
        }
    }
}
