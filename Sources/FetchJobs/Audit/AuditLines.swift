import FetchEngine

/// Checks the chains in files of entries, one JSON text a line, without the database that they come from.
///
/// A chain begins anywhere, with the first of its entries that is read; each that follows has to follow in the chain.
/// Entries that come again, as they do after a fault, have to be the same.
package struct AuditLines: Sendable {
    private static let hashSize = 32

    private struct Chain {
        let tenant: String?
        let first: Int64
        /// One after the other.
        var hashes: [UInt8]
        var fault: AuditChain.Break?

        var last: Int64 { first + Int64(hashes.count / hashSize) - 1 }

        func hash(of sequence: Int64) -> [UInt8]? {
            guard (first...last).contains(sequence) else { return nil }
            let start = Int(sequence - first) * hashSize
            return Array(hashes[start..<start + hashSize])
        }

        mutating func check(_ entry: AuditEntry) {
            guard fault == nil else { return }
            if let known = hash(of: entry.sequence) {
                if known != entry.hash || hash(of: entry.sequence - 1).map({ entry.hash(after: $0) != known }) ?? false
                {
                    fault = AuditChain.Break(sequence: entry.sequence, .changed)
                }
                return
            }
            guard entry.sequence == last + 1, let previous = hash(of: last) else {
                // Older than all that was read: the files are in the wrong order, or the line is not of this chain.
                let missing = entry.sequence < first ? entry.sequence + 1 : last + 1
                fault = AuditChain.Break(sequence: missing, .missing)
                return
            }
            guard entry.hash == entry.hash(after: previous) else {
                fault = AuditChain.Break(sequence: entry.sequence, .changed)
                return
            }
            hashes += entry.hash
        }
    }

    private var chains: [Tenant.ID: Chain] = [:]
    /// Lines that are no entries, such as half of one that a full disk has cut.
    package private(set) var brokenLines = 0

    package init() {}

    /// Reads the next line.
    package mutating func read(_ line: some Collection<UInt8>) {
        guard !line.isEmpty else { return }
        guard let entry = AuditEntry(line: line), entry.hash.count == Self.hashSize else {
            brokenLines += 1
            return
        }
        guard chains[entry.chain] == nil else {
            chains[entry.chain]?.check(entry)
            return
        }
        var chain = Chain(tenant: entry.tenant, first: entry.sequence, hashes: entry.hash)
        // What comes before it is not known, unless nothing does.
        if entry.sequence == 1, entry.hash != entry.hash(after: AuditChain.origin(of: entry.chain).hash) {
            chain.fault = AuditChain.Break(sequence: 1, .changed)
        }
        chains[entry.chain] = chain
    }

    /// What was found, a report for each chain.
    package var reports: [AuditChainReport] {
        chains.sorted { $0.key.rawValue < $1.key.rawValue }.map { id, chain in
            AuditChainReport(
                chain: id, tenant: chain.tenant, anchor: AuditChain.End(sequence: chain.first - 1, hash: []),
                head: AuditChain.End(sequence: chain.last, hash: chain.hash(of: chain.last) ?? []), fault: chain.fault)
        }
    }
}
