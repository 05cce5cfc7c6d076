import FetchEngine

/// The proxies that are trusted to name their clients.
package struct TrustedProxies: Sendable, Equatable, CustomStringConvertible {
    private let blocks: [IPPrefix]

    /// No proxy.
    package init() { blocks = [] }

    /// - Parameter rules: Addresses and blocks of them, such as `127.0.0.1` and `10.0.0.0/8`.
    /// - Throws: ``RuleError`` with the first rule that is neither.
    package init(_ rules: [String]) throws(RuleError) {
        var blocks: [IPPrefix] = []
        for rule in rules {
            guard let block = IPPrefix(rule) else { throw RuleError(rule: rule) }
            blocks.append(block)
        }
        self.blocks = blocks
    }

    /// The rules, separated by commas.
    package var description: String { blocks.map(\.description).joined(separator: ", ") }

    /// A text that is neither an address nor a block of addresses.
    package struct RuleError: Error {
        package let rule: String
    }

    /// Whether an address in its usual form belongs to a trusted proxy.
    package func contains(_ address: String) -> Bool { IPAddress(address).map { contains($0) } ?? false }

    private func contains(_ address: IPAddress) -> Bool {
        let plain = address.unmapped
        return blocks.contains { $0.contains(plain) }
    }

    /// The address of the client: the last one on the way here that belongs to no trusted proxy.
    ///
    /// Each proxy appends the address of its client, so the list is read from its end, up to the first address that
    /// is no trusted proxy's. An entry that cannot be read, or that differs between the two fields, counts for the
    /// proxy that passed it on, because a client can send either field itself.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection; nil when it has no address.
    ///   - forwarded: The values of `Forwarded` (RFC 7239), in their order.
    ///   - forwardedFor: Those of `X-Forwarded-For`.
    package func client(of peer: String?, forwarded: [String], forwardedFor: [String]) -> ClientNetwork? {
        guard let peer = peer.flatMap({ IPAddress($0) }) else { return nil }
        guard contains(peer) else { return ClientNetwork(of: peer) }
        var clients: Set<IPAddress> = []
        if !forwarded.isEmpty { clients.insert(client(of: peer, via: ForwardedField.nodes(in: forwarded))) }
        if !forwardedFor.isEmpty {
            let nodes = forwardedFor.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            clients.insert(client(of: peer, via: nodes.map { ForwardedField.address(ofNode: $0) }))
        }
        return ClientNetwork(of: clients.count == 1 ? clients.first ?? peer : peer)
    }

    /// Whether a trusted proxy says that a client speaks TLS: to it, or to another proxy on the way.
    ///
    /// What a client itself writes into these fields counts, too: it changes how this client's own cookie is named.
    ///
    /// - Parameter forwardedProto: The values of `X-Forwarded-Proto`.
    package func sayTLS(from peer: String?, forwarded: [String], forwardedProto: [String]) -> Bool {
        guard let peer, contains(peer) else { return false }
        return forwardedProto.contains { $0.split(separator: ",").contains { ForwardedField.isHTTPS($0) } }
            || ForwardedField.protocols(in: forwarded).contains { ForwardedField.isHTTPS($0) }
    }

    private func client(of peer: IPAddress, via nodes: [IPAddress?]) -> IPAddress {
        var client = peer
        for node in nodes.reversed() {
            guard contains(client), let node else { return client }
            client = node
        }
        return client
    }
}

/// The syntax of `Forwarded` (RFC 7239 §4), as far as it names clients.
enum ForwardedField {
    /// The client of each element; nil for one that names none, or hides it.
    ///
    /// One that is broken breaks all of them.
    static func nodes(in values: [String]) -> [IPAddress?] {
        var nodes: [IPAddress?] = []
        for value in values {
            guard let elements = split(value[...], at: ",") else { return [nil] }
            for element in elements {
                guard let clients = self.values(of: "for", in: element) else { return [nil] }
                nodes.append(clients.count == 1 ? clients.first.flatMap { address(ofNode: unquoted($0)) } : nil)
            }
        }
        return nodes
    }

    /// The values of `proto` in all elements that can be read.
    static func protocols(in values: [String]) -> [Substring] {
        values.flatMap { split($0[...], at: ",") ?? [] }.flatMap { self.values(of: "proto", in: $0) ?? [] }
            .map(unquoted)
    }

    static func isHTTPS(_ text: Substring) -> Bool { text.trimmed.lowercased() == "https" }

    /// The values of a parameter in an element; nil when that is broken.
    private static func values(of name: String, in element: Substring) -> [Substring]? {
        split(element, at: ";")?.compactMap { pair -> Substring? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].trimmed.lowercased() == name else { return nil }
            return parts[1].trimmed
        }
    }

    /// `192.0.2.1`, `192.0.2.1:47011`, `[2001:db8::1]:47011`, and `2001:db8::1` as in `X-Forwarded-For`.
    static func address(ofNode text: Substring) -> IPAddress? {
        let text = text.trimmed
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...]) else { return nil }
            let address = IPAddress(String(text[text.index(after: text.startIndex)..<end]))
            return address?.isIPv6 == true ? address?.unmapped : nil
        }
        guard let colon = text.firstIndex(of: ":"), text[text.index(after: colon)...].contains(":") == false else {
            return IPAddress(String(text))?.unmapped
        }
        return isPort(text[colon...]) ? IPAddress(String(text[..<colon])) : nil
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && UInt16(text.dropFirst()) != nil
    }

    /// The parts between separators that are not within quotes; nil when a quote is not closed.
    private static func split(_ text: Substring, at separator: Character) -> [Substring]? {
        var (parts, start) = ([Substring](), text.startIndex)
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            switch text[index] {
            case _ where isEscaped: isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case separator where !isQuoted:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    /// No address has a character that would have to be escaped.
    private static func unquoted(_ text: Substring) -> Substring {
        text.count >= 2 && text.first == "\"" && text.last == "\"" ? text.dropFirst().dropLast() : text
    }
}

extension IPAddress {
    /// The IPv4 address that is mapped into this one, if any.
    fileprivate var unmapped: IPAddress {
        let bytes = bytes
        guard bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10..<12] == [255, 255] else { return self }
        return IPAddress(bytes[12...].map { String($0) }.joined(separator: ".")) ?? self
    }
}
