/// One rule of a list of targets.
///
/// It matches a target that is at one of its hosts or addresses, if it has any, and on one of its ports and by one of
/// its schemes, where it has those. A name in a URL is matched by `hosts` alone, until its addresses are known.
package struct TargetRule: Sendable, Hashable {
    /// The operator's word for it, which the refusal repeats; nil for none.
    package var name: String?
    /// `name.example`, and `*.name.example` for all names below one.
    package var hosts: [HostPattern]
    package var addresses: [IPPrefix]
    /// Empty for all.
    package var ports: [UInt16]
    /// In lower case; empty for all.
    package var schemes: [String]

    package init(
        name: String? = nil, hosts: [HostPattern] = [], addresses: [IPPrefix] = [], ports: [UInt16] = [],
        schemes: [String] = []
    ) {
        self.name = name
        self.hosts = hosts
        self.addresses = addresses
        self.ports = ports
        self.schemes = schemes
    }

    /// Whether it is for all hosts.
    var isAnywhere: Bool { hosts.isEmpty && addresses.isEmpty }

    func covers(_ port: UInt16, _ scheme: String) -> Bool {
        (ports.isEmpty || ports.contains(port)) && (schemes.isEmpty || schemes.contains(scheme))
    }

    /// Reads a host of a rule: a name, or `*.` and a name, with the dot of the root or without; nil for everything else.
    package static func host(_ text: String) -> HostPattern? {
        guard let pattern = HostPattern(HostName.withoutRoot(text)), let name = pattern.nameAlone,
            HostName.fault(in: name) == nil
        else { return nil }
        return pattern
    }
}

/// The lists of an operator: the targets that are refused, and those that are the only ones allowed.
///
/// Deny comes before allow. The lists open nothing that the rest of a policy refuses. An object, for every connection is
/// judged by it and every set of connections is found by it; two with the same rules are equal.
package final class TargetRules: Sendable, Hashable {
    package enum Mode: String, Sendable, CaseIterable {
        /// What no rule of `deny` matches is allowed; `allow` waits for the other mode.
        case denyList
        /// What no rule of `allow` matches is refused too.
        case allowListOnly
    }

    package let mode: Mode
    package let allow: [TargetRule]
    package let deny: [TargetRule]

    private let allowed: TargetRuleIndex
    private let denied: TargetRuleIndex
    private let digest: Int

    package init(mode: Mode = .denyList, allow: [TargetRule] = [], deny: [TargetRule] = []) {
        self.mode = mode
        self.allow = allow
        self.deny = deny
        allowed = TargetRuleIndex(mode == .allowListOnly ? allow : [])
        denied = TargetRuleIndex(deny)
        var hasher = Hasher()
        hasher.combine(mode)
        hasher.combine(allow)
        hasher.combine(deny)
        digest = hasher.finalize()
    }

    /// Judges the name in a URL, before it is looked up.
    func judge(name: String, port: UInt16, scheme: String) throws(TargetRefusal) {
        if let rule = denied.rule(name: name, port, scheme) { throw .denied(by: rule) }
        guard mode == .allowListOnly, allowed.rule(name: name, port, scheme) == nil else { return }
        throw .notAllowed
    }

    /// Judges the address in a URL.
    ///
    /// - Parameter forms: The address, and those that it stands for.
    func judge(literal forms: [IPAddress], port: UInt16, scheme: String) throws(TargetRefusal) {
        try judge(connection: forms, port: port, scheme: scheme)
        guard mode == .allowListOnly, allowed.rule(addresses: forms, port, scheme) == nil else { return }
        throw .notAllowed
    }

    /// Judges the address of a connection, whose URL was judged before: by the name there, it may be any but a denied one.
    func judge(connection forms: [IPAddress], port: UInt16, scheme: String) throws(TargetRefusal) {
        if let rule = denied.rule(addresses: forms, port, scheme) { throw .denied(by: rule) }
    }

    package static func == (left: TargetRules, right: TargetRules) -> Bool {
        left === right
            || left.digest == right.digest && left.mode == right.mode && left.allow == right.allow
                && left.deny == right.deny
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// Finds the first rule for a target without a look at all of them: one look-up for each label of a name, one for each
/// length of blocks that there is, and one for the port.
struct TargetRuleIndex: Sendable {
    /// The blocks of one length, by the bits that their addresses share.
    private struct Blocks: Sendable {
        let isIPv6: Bool
        let length: Int
        var rules: [UInt128: [Int]] = [:]

        func bits(of address: IPAddress) -> UInt128 { address.value >> UInt128(address.bitWidth - length) }
    }

    private let rules: [TargetRule]
    /// Places in ``rules``, in their order, as everywhere here.
    private var names: [Substring: [Int]] = [:]
    private var parents: [Substring: [Int]] = [:]
    private var blocks: [Blocks] = []
    /// Of the rules for all hosts, those with ports.
    private var ports: [UInt16: [Int]] = [:]
    private var anywhere: [Int] = []

    init(_ rules: [TargetRule]) {
        self.rules = rules
        for (place, rule) in rules.enumerated() {
            if rule.isAnywhere {
                if rule.ports.isEmpty { anywhere.append(place) }
                for port in Set(rule.ports) { ports[port, default: []].append(place) }
            }
            for host in rule.hosts {
                if let name = host.name { names[name[...], default: []].append(place) }
                if let parent = host.parentName { parents[parent[...], default: []].append(place) }
            }
            for block in rule.addresses { add(block, place) }
        }
    }

    private mutating func add(_ block: IPPrefix, _ place: Int) {
        let isIPv6 = block.base.isIPv6
        var index = blocks.firstIndex { $0.isIPv6 == isIPv6 && $0.length == block.length }
        if index == nil {
            index = blocks.count
            blocks.append(Blocks(isIPv6: isIPv6, length: block.length))
        }
        guard let index else { return }
        blocks[index].rules[blocks[index].bits(of: block.base), default: []].append(place)
    }

    /// The first rule for a name.
    func rule(name: String, _ port: UInt16, _ scheme: String) -> TargetRule? {
        guard !rules.isEmpty else { return nil }
        let name = HostName.withoutRoot(name)
        var first = nearer(first(of: anywhere, port, scheme), ports[port], port, scheme)
        if !names.isEmpty { first = nearer(first, names[name[...]], port, scheme) }
        if !parents.isEmpty {
            for parent in HostName.parents(of: name) { first = nearer(first, parents[parent], port, scheme) }
        }
        return first.map { rules[$0] }
    }

    /// The first rule for one of some addresses.
    func rule(addresses: [IPAddress], _ port: UInt16, _ scheme: String) -> TargetRule? {
        guard !rules.isEmpty else { return nil }
        var first = nearer(first(of: anywhere, port, scheme), ports[port], port, scheme)
        for address in addresses {
            for group in blocks where group.isIPv6 == address.isIPv6 {
                first = nearer(first, group.rules[group.bits(of: address)], port, scheme)
            }
        }
        return first.map { rules[$0] }
    }

    private func nearer(_ best: Int?, _ places: [Int]?, _ port: UInt16, _ scheme: String) -> Int? {
        guard let places, let found = first(of: places, port, scheme) else { return best }
        return min(best ?? found, found)
    }

    private func first(of places: [Int], _ port: UInt16, _ scheme: String) -> Int? {
        places.first { rules[$0].covers(port, scheme) }
    }
}

extension TargetRefusal.Code {
    /// A rule of the operator denies the target.
    public static let egressDenied = Self("egressDenied")
    /// The operator allows only the targets of a list, and this is none of them.
    public static let egressNotAllowed = Self("egressNotAllowed")
}

extension TargetRefusal {
    fileprivate static func denied(by rule: TargetRule) -> Self {
        let name = rule.name.map { " \"\($0)\"" } ?? ""
        var refusal = Self(.egressDenied, "The operator's rule\(name) denies this target.")
        refusal.rule = rule.name
        return refusal
    }

    fileprivate static let notAllowed = Self(
        .egressNotAllowed, "The operator allows only the targets of a list, and this is none of them.")
}
