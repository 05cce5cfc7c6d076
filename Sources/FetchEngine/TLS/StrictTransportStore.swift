import Synchronization

/// The hosts that are reached by https alone because they have sent `Strict-Transport-Security` (RFC 6797).
///
/// In memory. Sessions that share a store share its hosts. A program that serves several parties gives each its own
/// store, because the hosts in it show which servers the others have loaded from.
public final class StrictTransportStore: Sendable {
    /// The policy of a host.
    private struct Policy {
        var end: UnixTime
        var includesSubdomains: Bool
    }

    /// How many hosts are remembered; beyond it the one whose time ends first is forgotten.
    public static let maximumCount = 4096

    private let policies = Mutex<[String: Policy]>([:])
    /// The hosts that it was made with.
    public let listed: [HostPattern]
    /// Whether the store learns the policies that servers send.
    let learns: Bool

    /// Makes an empty one, which learns from servers.
    public init() { (listed, learns) = ([], true) }

    /// Makes one of a fixed list, for programs whose loads must be the same wherever and whenever they run: the
    /// policies that servers send change nothing.
    public init(listing hosts: [HostPattern]) { (listed, learns) = (hosts, false) }

    /// Whether a host, in the form of URL records, is reached by https alone.
    public func includes(_ host: String, at now: UnixTime = .now) -> Bool {
        let host = HostName.withoutRoot(host)
        return policies.withLock { policies in
            guard !policies.isEmpty else { return false }
            if let policy = policies[host], policy.end > now { return true }
            return HostName.parents(of: host).contains { parent in
                policies[String(parent)].map { $0.includesSubdomains && $0.end > now } ?? false
            }
        }
    }

    /// Adds a host, as the lists that browsers are delivered with do.
    ///
    /// An address is not added: only names are hosts here.
    ///
    /// - Parameters:
    ///   - host: The host, in the form of URL records.
    ///   - duration: For how long; zero removes it.
    ///   - includesSubdomains: Whether the hosts below it are included.
    ///   - now: When that begins.
    public func insert(
        _ host: String, for duration: Duration, includesSubdomains: Bool = false, at now: UnixTime = .now
    ) {
        let host = HostName.withoutRoot(host)
        guard IPAddress(host: host) == nil, !host.isEmpty else { return }
        policies.withLock { policies in
            guard duration > .zero else {
                policies[host] = nil
                return
            }
            policies[host] = Policy(end: now.advanced(by: duration), includesSubdomains: includesSubdomains)
            guard policies.count > Self.maximumCount else { return }
            if let first = policies.min(by: { $0.value.end < $1.value.end }) { policies[first.key] = nil }
        }
    }

    /// Forgets all hosts.
    public func removeAll() { policies.withLock { $0 = [:] } }

    /// Whether the host of a URL is reached by https alone.
    func includes(hostOf url: URLRecord, at now: UnixTime = .now) -> Bool {
        listed.contains { url.matches($0) } || url.host.map { includes($0, at: now) } ?? false
    }

    /// The URL to load in place of one: with https when its host wants that (§8.3).
    func secured(_ url: URLRecord, at now: UnixTime = .now) -> URLRecord {
        guard url.scheme == "http", includes(hostOf: url, at: now) else { return url }
        return (try? URLRecord("https" + url.description.dropFirst("http".utf8.count))) ?? url
    }
}
