/// Which proxies the loads of a session go through.
///
/// None, unless the program names one: the environment is looked at only by ``environment(_:)``. Automatic
/// configuration scripts (PAC) are programs, and are not run: state their rules here.
public struct ProxyConfiguration: Sendable, Hashable {
    /// One way to a target.
    public enum Route: Sendable, Hashable {
        /// Without a proxy.
        case direct
        /// Through this one.
        case proxy(Proxy)
    }

    /// The routes for some targets.
    public struct Rule: Sendable, Hashable {
        /// The schemes of the URLs it is for; `nil` is all of them.
        public var schemes: Set<String>?
        /// The hosts it is for; `nil` is all of them.
        public var hosts: [HostPattern]?
        /// The hosts it is not for, even if ``hosts`` has them.
        public var excludedHosts: [HostPattern] = []
        /// The routes, tried in this order.
        ///
        /// The next one is tried when a proxy cannot be reached. An answer of a proxy, a refusal too, is final.
        public var routes: [Route]

        /// Makes a rule.
        public init(
            schemes: Set<String>? = nil, hosts: [HostPattern]? = nil, excludedHosts: [HostPattern] = [],
            routes: [Route]
        ) {
            self.schemes = schemes
            self.hosts = hosts
            self.excludedHosts = excludedHosts
            self.routes = routes
        }

        func applies(to url: URLRecord) -> Bool {
            if let schemes, !schemes.contains(url.scheme) { return false }
            if let hosts, !hosts.contains(where: url.matches) { return false }
            return !excludedHosts.contains(where: url.matches)
        }
    }

    /// The rules: the first that applies to a URL counts.
    public var rules: [Rule]
    /// The hosts that are always reached without a proxy.
    public var exclusions: [HostPattern]

    /// No proxy for anything.
    public static let none = ProxyConfiguration()

    /// Makes a configuration from rules.
    public init(rules: [Rule] = [], exclusions: [HostPattern] = []) {
        self.rules = rules
        self.exclusions = exclusions
    }

    /// Makes a configuration with a proxy for each scheme.
    ///
    /// - Parameters:
    ///   - http: For http URLs.
    ///   - https: For https URLs.
    ///   - ftp: For ftp and ftps URLs.
    ///   - socks: For the schemes without a proxy of their own.
    ///   - exclusions: The hosts that are always reached without a proxy.
    public init(
        http: Proxy? = nil, https: Proxy? = nil, ftp: Proxy? = nil, socks: Proxy? = nil,
        exclusions: [HostPattern] = []
    ) {
        let pairs: [(Set<String>?, Proxy?)] = [
            (["http"], http), (["https"], https), (["ftp", "ftps"], ftp), (nil, socks),
        ]
        rules = pairs.compactMap { schemes, proxy in
            proxy.map { Rule(schemes: schemes, routes: [.proxy($0)]) }
        }
        self.exclusions = exclusions
    }

    /// The routes to a URL, in the order to try them in; never empty.
    package func routes(to url: URLRecord) -> [Route] {
        guard !rules.isEmpty, !exclusions.contains(where: url.matches) else { return [.direct] }
        guard let rule = rules.first(where: { $0.applies(to: url) }), !rule.routes.isEmpty else { return [.direct] }
        return rule.routes
    }
}

extension ProxyConfiguration {
    /// The proxies that the conventional environment variables name.
    ///
    /// `http_proxy` (lower case only: a web server hands `HTTP_PROXY` to its CGI programs from a request),
    /// `https_proxy`, `ftp_proxy`, `all_proxy` for what these leave, and `no_proxy`, a list of hosts separated by
    /// commas; the last four in upper case too, where lower case wins. A name in `no_proxy` means the hosts below it
    /// as well.
    ///
    /// - Parameter variables: The environment, or a part of it.
    /// - Throws: `proxyInvalid` when a variable cannot be read, rather than to load without the proxy.
    public static func environment(_ variables: [String: String]) throws(LoadError) -> Self {
        func value(_ name: String) -> String? {
            let value = variables[name] ?? (name == "http_proxy" ? nil : variables[name.uppercased()])
            return value.flatMap { $0.isEmpty ? nil : $0 }
        }
        func proxy(_ name: String) throws(LoadError) -> Proxy? {
            guard let text = value(name) else { return nil }
            guard let proxy = Proxy(text) else {
                throw LoadError(.proxyInvalid, "The environment variable \(name) names no proxy.")
            }
            return proxy
        }
        return try Self(
            http: proxy("http_proxy"), https: proxy("https_proxy"), ftp: proxy("ftp_proxy"), socks: proxy("all_proxy"),
            exclusions: value("no_proxy").map(exclusions) ?? [])
    }

    private static func exclusions(_ list: String) throws(LoadError) -> [HostPattern] {
        var patterns: [HostPattern] = []
        for word in list.split(whereSeparator: { $0 == "," || $0 == " " }) {
            let text = word.hasPrefix("*.") ? word.dropFirst(2) : word.hasPrefix(".") ? word.dropFirst() : word
            guard let pattern = HostPattern(String(text)) else {
                throw LoadError(.proxyInvalid, "The environment variable no_proxy has an entry that is no host.")
            }
            patterns.append(pattern)
            if let below = HostPattern("*." + text) { patterns.append(below) }
        }
        return patterns
    }
}
