import FetchJobs
import HTTPTypes
import HummingbirdCore
import Synchronization

/// A port for programs of this machine that steer aria2 without a secret, as the downloads of one tenant.
///
/// Whoever reaches it has the rights of that tenant for downloads. So it listens at this machine alone, and answers
/// nobody who thinks that it is another one: a page whose name was made to lead here names that, and not this machine.
package struct Aria2Listener: Sendable, CustomStringConvertible {
    /// An address of this machine's loopback.
    let host: String
    let port: Int

    /// Reads an address and a port, as in `127.0.0.1:6800` and `[::1]:6800`; nil for what is not of this machine.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port), text[text.index(after: colon)...].allSatisfy(\.isNumber)
        else { return nil }
        let host = String(text[..<colon])
        // What a name stands for is known when it is looked up alone.
        guard Self.isLoopback(host), host.lowercased() != "localhost" else { return nil }
        self.host = host == "[::1]" ? "::1" : host
        self.port = port
    }

    package var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Whether a host, as a URL has it, is this machine under one of the names that nobody else can have.
    static func isLoopback(_ host: String) -> Bool {
        if host == "[::1]" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt8(part) : nil
        }
        return parts.count == 4 && numbers.count == 4 && numbers.first == 127
    }
}

/// Who calls at that port.
final class Aria2OpenDoor: Sendable {
    private let tenant: String
    private let tenants: any TenantStore
    private let known = Mutex<(key: APIKey, seenAt: ContinuousClock.Instant)?>(nil)

    init(of tenant: String, in tenants: any TenantStore) {
        self.tenant = tenant
        self.tenants = tenants
    }

    /// The rights that everybody has there.
    ///
    /// - Throws: ``Problem`` `notReady` as long as there is no such tenant.
    func key() async throws -> APIKey {
        let now = ContinuousClock.now
        if let known = known.withLock({ $0 }), now - known.seenAt < Authenticator.lifetime { return known.key }
        guard let found = try await tenants.tenant(named: tenant) else {
            throw Problem(.notReady, "There is no tenant of the name that ARIA2_TENANT has: a key for it makes it.")
        }
        let subject = TokenSubject(issuer: "fetchd", subject: "ARIA2_LISTEN")
        let spec = APIKeySpec(name: subject.description, scopes: [.readJobs, .writeJobs, .limits])
        let key = APIKey(of: subject, tenant: found.tenant.id, spec: spec, createdAt: .now)
        known.withLock { $0 = (key, now) }
        return key
    }

    /// Refuses a request that is meant for another machine.
    func check(_ call: Call) throws(Problem) {
        let authority = call.request.head.authority ?? ""
        let host =
            authority.last == "]" ? authority[...] : authority[..<(authority.lastIndex(of: ":") ?? authority.endIndex)]
        guard Aria2Listener.isLoopback(String(host)) else {
            throw Problem(.forbidden, "The Host field must name this machine, as in 127.0.0.1 or localhost.")
        }
    }
}
