import Crypto
import FetchEngine
import FetchJobs
import Postgres

/// A cookie as the table `cookies` holds it: its value sealed.
struct CookieRow: Sendable {
    let key: [UInt8]
    let cookie: Cookie
    /// Nil when the cookie was removed.
    let sealedValue: [UInt8]?

    /// - Throws: When the value cannot be sealed.
    init(_ change: CookieChange, in vault: Vault) throws {
        cookie = change.cookie
        key = Self.key(of: cookie)
        sealedValue =
            switch change {
            case .set(let cookie): try vault.seal(cookie.valueBytes, table: Self.table, row: key)
            case .remove: nil
            }
    }

    private static let table = "cookies"

    /// The identity of a cookie in a storage, in 32 bytes: names and paths alone may be longer than an index takes.
    private static func key(of cookie: Cookie) -> [UInt8] {
        var hash = SHA256()
        let parts: [[UInt8]] = [
            cookie.nameBytes, Array(cookie.domain.utf8), [cookie.isHostOnly ? 1 : 0], Array(cookie.path.utf8),
            cookie.partition.map { [1] + Array($0.utf8) } ?? [],
        ]
        for part in parts {
            withUnsafeBytes(of: UInt32(part.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }

    /// The change of the cookie in a row that was read; nil for a row without one.
    ///
    /// - Parameter first: The column of the key; the others follow in the order of ``columns``.
    static func change(_ row: Row, from first: Int, in vault: Vault) throws -> CookieChange? {
        guard let key = try row.decode([UInt8]?.self, at: first) else { return nil }
        let sealed = try row.decode([UInt8]?.self, at: first + 6)
        let value = try sealed.map { try vault.open($0, table: table, row: key) }
        let domain = try row.decode(String.self, at: first + 2)
        let isHostOnly = try row.decode(Bool.self, at: first + 3)
        let cookie = try Cookie(
            nameBytes: try row.decode(at: first + 1),
            valueBytes: value ?? [UInt8(ascii: "-")],
            domain: (isHostOnly ? "" : ".") + domain,
            path: try row.decode(at: first + 4),
            expires: try row.decode(Timestamp?.self, at: first + 7).map { UnixTime(microseconds: $0.microseconds) },
            isSecure: try row.decode(at: first + 8),
            isHTTPOnly: try row.decode(at: first + 9),
            sameSite: try row.decode(String?.self, at: first + 10).flatMap { Cookie.SameSite(rawValue: $0) },
            partition: try row.decode(at: first + 5),
            creationTime: UnixTime(microseconds: try row.decode(Timestamp.self, at: first + 11).microseconds)
        )
        return value == nil ? .remove(cookie) : .set(cookie)
    }

    static let columns: Query = """
        c.key, c.name, c.domain, c.is_host_only, c.path, c.partition, c.sealed_value, c.expires_at, c.is_secure,
        c.is_http_only, c.same_site, c.created_at
        """
}

extension UnixTime {
    /// In the range that PostgreSQL can keep.
    var timestamp: Timestamp {
        Timestamp(microseconds: min(max(microseconds, 0), 253_402_300_799_000_000))
    }
}
