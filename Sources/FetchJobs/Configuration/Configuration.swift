package import FetchEngine

/// How to load: the one schema of sessions and jobs.
///
/// Every member may be left out: the job then has the value of its session, and the session the default of the service.
///
/// Copies share their values, and one that is changed gets values of its own: every step of a job has its configuration,
/// and that of most jobs is empty.
package struct Configuration: Sendable, Equatable {
    private struct Values: Sendable, Equatable {
        var request = Request()
        var redirects = Redirects()
        var authentication = Authentication()
        var serverTrust = ServerTrust()
        var cookies = Cookies()
        var cache = Cache()
        var proxy = Proxy()
        var tls = TLS()
        var timeouts = Timeouts()
        var connections = Connections()
        var background = Background()
        var response = Response()
        var upload = Upload()
        var destination = Destination()
        var retry = Retry()
        var rules: [Rule] = []
        var delegate = Delegate()
    }

    private final class Storage: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private var storage = Self.empty

    private static let empty = Storage(Values())

    package init() {}

    package static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.storage.values == right.storage.values
    }

    private var values: Values {
        _read { yield storage.values }
        _modify {
            var values = storage.values
            defer { storage = Storage(values) }
            yield &values
        }
    }

    // MARK: Groups

    package var request: Request {
        _read { yield values.request }
        _modify { yield &values.request }
    }

    package var redirects: Redirects {
        _read { yield values.redirects }
        _modify { yield &values.redirects }
    }

    package var authentication: Authentication {
        _read { yield values.authentication }
        _modify { yield &values.authentication }
    }

    package var serverTrust: ServerTrust {
        _read { yield values.serverTrust }
        _modify { yield &values.serverTrust }
    }

    package var cookies: Cookies {
        _read { yield values.cookies }
        _modify { yield &values.cookies }
    }

    package var cache: Cache {
        _read { yield values.cache }
        _modify { yield &values.cache }
    }

    package var proxy: Proxy {
        _read { yield values.proxy }
        _modify { yield &values.proxy }
    }

    package var tls: TLS {
        _read { yield values.tls }
        _modify { yield &values.tls }
    }

    package var timeouts: Timeouts {
        _read { yield values.timeouts }
        _modify { yield &values.timeouts }
    }

    package var connections: Connections {
        _read { yield values.connections }
        _modify { yield &values.connections }
    }

    package var background: Background {
        _read { yield values.background }
        _modify { yield &values.background }
    }

    package var response: Response {
        _read { yield values.response }
        _modify { yield &values.response }
    }

    package var upload: Upload {
        _read { yield values.upload }
        _modify { yield &values.upload }
    }

    package var destination: Destination {
        _read { yield values.destination }
        _modify { yield &values.destination }
    }

    package var retry: Retry {
        _read { yield values.retry }
        _modify { yield &values.retry }
    }

    /// Answers in advance; the first rule whose conditions a question meets decides.
    package var rules: [Rule] {
        _read { yield values.rules }
        _modify { yield &values.rules }
    }

    package var delegate: Delegate {
        _read { yield values.delegate }
        _modify { yield &values.delegate }
    }

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
        override = { configuration, upper in
            let group = upper[keyPath: path]
            if group != Group() { configuration[keyPath: path].override(by: group) }
        }
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
