import Glibc

/// A user of this machine, by the password file.
struct OSUser: Hashable, Sendable {
    let name: String
    let id: uid_t
    let group: gid_t

    /// The user this process runs as; nil when its id has no entry, as in a container with a made-up id.
    static var current: OSUser? { lookUp { getpwuid_r(geteuid(), $0, $1, $2, $3) } }

    init?(named name: String) {
        guard let user = Self.lookUp({ getpwnam_r(name, $0, $1, $2, $3) }) else { return nil }
        self = user
    }

    init(name: String, id: uid_t, group: gid_t) {
        self.name = name
        self.id = id
        self.group = group
    }

    private static func lookUp(
        _ query: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32
    ) -> OSUser? {
        var entry = passwd()
        var match: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            guard let base = buffer.baseAddress, query(&entry, base, buffer.count, &match) == 0, match != nil else {
                return nil
            }
            return OSUser(name: String(cString: entry.pw_name), id: entry.pw_uid, group: entry.pw_gid)
        }
    }

    /// The groups it is a member of, its own included.
    var groups: [gid_t] {
        var groups = [gid_t](repeating: 0, count: 256)
        var count = Int32(groups.count)
        guard getgrouplist(name, group, &groups, &count) >= 0 else { return [group] }
        return Array(groups.prefix(Int(count)))
    }

    // MARK: The user of PostgreSQL

    /// The user to run PostgreSQL as: this one, unless it is root, which PostgreSQL refuses.
    ///
    /// Root takes the user asked for, or one named `fetchd`, or `postgres`, which PostgreSQL's package makes. No user
    /// is ever created, and `nobody` is taken only when asked for: other programs of nobody could read the data.
    static func forDatabase(named wanted: String?) throws(PrivateClusterError) -> OSUser {
        guard geteuid() == 0 else { return try ownUser(asked: wanted) }
        if let wanted {
            guard let user = OSUser(named: wanted), user.id != 0 else {
                throw PrivateClusterError(
                    .userMissing, "There is no user \(wanted) that PostgreSQL could run as; it refuses to run as root.")
            }
            return user
        }
        for name in ["fetchd", "postgres"] {
            if let user = OSUser(named: name), user.id != 0 { return user }
        }
        throw PrivateClusterError(
            .userMissing,
            "PostgreSQL refuses to run as root and there is no user fetchd or postgres. "
                + "Make one: useradd --system --no-create-home fetchd. \(PrivateClusterError.alternative)")
    }

    private static func ownUser(asked wanted: String?) throws(PrivateClusterError) -> OSUser {
        guard let user = current else {
            throw PrivateClusterError(
                .userNameless,
                "User id \(geteuid()) has no entry in the password file, which PostgreSQL needs to make a cluster. "
                    + "Run as a user that has one. \(PrivateClusterError.alternative)")
        }
        guard wanted == nil || wanted == user.name else {
            throw PrivateClusterError(
                .userMissing, "Only root can run PostgreSQL as another user; this is \(user.name), not \(wanted ?? "")."
            )
        }
        return user
    }
}
