package import FetchEngine

extension Configuration {
    /// The proxy that everything goes through, or those for some schemes and hosts, apart from some hosts.
    package struct Proxy: ConfigurationGroup {
        package var url: FetchEngine.Proxy?
        /// Happens where a job runs: no setting of the engine stands for it.
        package var credential: JobCredential?
        package var rules: [ProxyConfiguration.Rule]?
        package var noProxy: [HostPattern]?

        package init() {}

        package static let isWhole = true

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("url", \.url, .proxy, get: { $0.proxies.single }, set: { _, _ in }),
            ConfigurationMember("credential", \.credential, .credential, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "rules", \.rules, .list(of: .proxyRule, upTo: 50),
                get: { $0.proxies.single == nil && !$0.proxies.rules.isEmpty ? $0.proxies.rules : nil },
                set: { _, _ in }),
            ConfigurationMember(
                "noProxy", \.noProxy, .list(of: .hostPattern, upTo: 100), get: { $0.proxies.exclusions },
                set: { _, _ in }),
        ]

        package func check(_ reader: JSONReader) {
            // The configuration does not say which of several proxies the credential is for.
            if credential != nil, url == nil { reader.refuse("must have a url with a credential") }
            if url != nil, rules != nil { reader.refuse("must not have both a url and rules") }
            if case .inline(let credential) = credential, credential.kind != .password {
                reader.refuse("must have a user and a password as its credential")
            }
        }

        package func apply(to configuration: inout SessionConfiguration) {
            guard self != Self() else { return }
            let all = url.map { [ProxyConfiguration.Rule(routes: [.proxy($0)])] }
            configuration.proxies = ProxyConfiguration(rules: all ?? rules ?? [], exclusions: noProxy ?? [])
        }
    }
}

extension ProxyConfiguration {
    /// The proxy when there is one for everything.
    fileprivate var single: Proxy? {
        guard rules.count == 1, case .proxy(let proxy)? = rules[0].routes.first,
            rules[0] == Rule(routes: [.proxy(proxy)])
        else { return nil }
        return proxy
    }
}

extension ConfigurationRule where Value == FetchEngine.Proxy {
    /// `kind://host:port`; user names and passwords have no place in text that everyone may read.
    fileprivate static var proxy: Self {
        .text(
            upTo: 300,
            "must be http, https, socks4, socks4a, socks5 or socks5h, \"://\", a host and a port (proxyInvalid)",
            parse: { text in FetchEngine.Proxy(text).flatMap { $0.credential == nil && text.contains("://") ? $0 : nil }
            },
            text: { $0.description }
        )
    }
}

extension ConfigurationRule where Value == ProxyConfiguration.Route {
    /// A proxy, or `direct`.
    fileprivate static var route: Self {
        let proxy = ConfigurationRule<FetchEngine.Proxy>.proxy
        return Self(
            read: { reader in
                if case .string("direct") = reader.value { return .direct }
                return proxy.read(reader).map { .proxy($0) }
            },
            write: { route, writer in
                switch route {
                case .direct: writer.value("direct")
                case .proxy(let value): proxy.write(value, &writer)
                }
            }
        )
    }
}

extension ConfigurationRule where Value == ProxyConfiguration.Rule {
    private enum Scheme: String, CaseIterable {
        case http, https, ftp, ftps
    }

    /// Which proxies are tried for some schemes and hosts.
    fileprivate static var proxyRule: Self {
        let hosts = ConfigurationRule<[HostPattern]>.list(of: .hostPattern, upTo: 100)
        let routes = ConfigurationRule<[ProxyConfiguration.Route]>.list(of: .route, upTo: 8)
        return Self(
            read: { reader in
                guard let object = reader.object(of: ["schemes", "hosts", "excludedHosts", "proxies"]) else {
                    return nil
                }
                let schemes = object["schemes"]?.array(maximum: 4)?.compactMap { $0.oneOf(Scheme.self)?.rawValue }
                guard let named = object.required("proxies"), let proxies = routes.read(named) else { return nil }
                if proxies.isEmpty { named.refuse("must name at least one proxy, or \"direct\"") }
                return ProxyConfiguration.Rule(
                    schemes: schemes.map { Set($0) }, hosts: object["hosts"].flatMap { hosts.read($0) },
                    excludedHosts: object["excludedHosts"].flatMap { hosts.read($0) } ?? [], routes: proxies)
            },
            write: { rule, writer in
                writer.object { writer in
                    if let schemes = rule.schemes {
                        writer.member("schemes", array: { writer in schemes.sorted().forEach { writer.value($0) } })
                    }
                    if let named = rule.hosts {
                        writer.name("hosts")
                        hosts.write(named, &writer)
                    }
                    if !rule.excludedHosts.isEmpty {
                        writer.name("excludedHosts")
                        hosts.write(rule.excludedHosts, &writer)
                    }
                    writer.name("proxies")
                    routes.write(rule.routes, &writer)
                }
            }
        )
    }
}
