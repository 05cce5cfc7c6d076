import FetchEngine

/// Checks that the entries of a chain are those that were written: none changed, none missing, none put between.
///
/// The hash of an entry is SHA-256 over the hash of the entry before it and its own canonical form: the values of
/// sequence, at and until (in microseconds since 1970), count, actor, key, signIn, client, request, action, object and
/// details, each as its length in bytes, a colon, itself and a comma, or as a hyphen where there is none. The first
/// entry follows SHA-256 of `fetchd audit ` and the number of the tenant.
package struct AuditChain: Sendable {
    /// A place in a chain.
    package struct End: Sendable, Equatable {
        package let sequence: Int64
        package let hash: [UInt8]

        package init(sequence: Int64, hash: [UInt8]) {
            self.sequence = sequence
            self.hash = hash
        }

        package var hexadecimalHash: String { Hexadecimal.text(hash) }
    }

    /// The first thing that is wrong with a chain.
    package struct Break: Sendable, Equatable {
        package enum Fault: String, Sendable {
            /// The entry says something else than when it was written, or it was not written here.
            case changed
            /// There is no entry at this place.
            case missing
        }

        package let sequence: Int64
        package let fault: Fault

        package init(sequence: Int64, _ fault: Fault) {
            self.sequence = sequence
            self.fault = fault
        }
    }

    /// The last entry that was checked; at first the one that the chain begins after.
    package private(set) var end: End
    package private(set) var fault: Break?

    /// - Parameter anchor: The last entry that was removed.
    package init(after anchor: End) { end = anchor }

    /// The end of a chain that has no entry yet.
    package static func origin(of chain: Tenant.ID) -> End {
        End(sequence: 0, hash: SHA256Digest(of: Array("fetchd audit \(chain)".utf8)).bytes)
    }

    /// Checks the next entry; after a break nothing is checked any more.
    package mutating func check(_ entry: AuditEntry) {
        guard fault == nil else { return }
        let expected = end.sequence + 1
        guard entry.sequence == expected else {
            fault = Break(sequence: expected, .missing)
            return
        }
        guard entry.hash == entry.hash(after: end.hash) else {
            fault = Break(sequence: expected, .changed)
            return
        }
        end = End(sequence: expected, hash: entry.hash)
    }

    /// Checks that the last entry was the head of the chain.
    package mutating func finish(at head: End) {
        guard fault == nil, end != head else { return }
        fault =
            end.sequence < head.sequence
            ? Break(sequence: end.sequence + 1, .missing) : Break(sequence: head.sequence, .changed)
    }
}

extension AuditEntry {
    package func hash(after previous: [UInt8]) -> [UInt8] {
        let values: [String?] = [
            String(sequence), String(at.microseconds), until.map { String($0.microseconds) }, String(count), actor, key,
            signIn, client, request, action, object, details?.text,
        ]
        let text = values.map { value in value.map { "\($0.utf8.count):\($0)," } ?? "-" }.joined()
        return SHA256Digest(of: previous + Array(text.utf8)).bytes
    }
}

/// What a check of a chain has found.
package struct AuditChainReport: Sendable, Equatable {
    package let chain: Tenant.ID
    /// Nil for the chain of the service, and for that of a tenant that is gone.
    package let tenant: String?
    /// What was removed: the check begins after it.
    package let anchor: AuditChain.End
    package let head: AuditChain.End
    /// Nil when all entries are as they were written.
    package let fault: AuditChain.Break?

    package init(
        chain: Tenant.ID, tenant: String?, anchor: AuditChain.End, head: AuditChain.End, fault: AuditChain.Break?
    ) {
        self.chain = chain
        self.tenant = tenant
        self.anchor = anchor
        self.head = head
        self.fault = fault
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("tenant", tenant)
        writer.member("first", anchor.sequence + 1)
        writer.member("last", head.sequence)
        writer.member("head", head.hexadecimalHash)
        writer.member("isIntact", fault == nil)
        if let fault {
            writer.member(
                "break",
                object: { writer in
                    writer.member("sequence", fault.sequence)
                    writer.member("fault", fault.fault.rawValue)
                })
        }
    }
}
