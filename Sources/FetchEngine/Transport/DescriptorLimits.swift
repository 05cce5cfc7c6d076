import Glibc

/// How many files and sockets a process may have open at once, and how they are shared out.
///
/// Everything that bounds itself by descriptors reads it here, so that the parts together fit into the whole.
package struct DescriptorLimits: Sendable, Equatable {
    /// The descriptors of the process without any work: its database connections, threads' queues, logs and libraries.
    private static let own = 96

    /// The descriptors that the process may have.
    package let total: Int

    /// - Parameter total: The descriptors that the process may have.
    package init(total: Int) { self.total = total }

    /// The limits of this process at the moment.
    package static var ofProcess: DescriptorLimits {
        DescriptorLimits(total: Int(clamping: limit.rlim_cur))
    }

    /// Lets this process have as many as the system allows it at most.
    ///
    /// Shells and systemd start programs with a limit of 1 024, for those that wait with `select`; nothing here does.
    package static func raise() {
        var limit = limit
        guard limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // Where the limit cannot be raised, the present one stays.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static var limit: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit
    }

    /// How many connections a server beside the transfers may have; each may read or write a file.
    package var serverConnections: Int { max(total / 32, min(64, total / 8)) }

    /// How many descriptors transfers may use.
    ///
    /// Count three for each transfer that runs: its socket, a file that it reads or fills, and the lock of the place of
    /// that file.
    package var transfers: Int { max(total - Self.own - 2 * serverConnections, total / 4) }
}
