import CLibPQ
import Glibc

/// A server that a connection string names.
struct ServerPlace: Hashable, Sendable {
    /// A name, an address, or the directory of a socket; empty where libpq has a default.
    let host: String
    /// Its address; nil where libpq knows it by the host.
    var address: String?
    let port: String

    /// Whether the address of its host has to be looked up.
    var isNamed: Bool {
        guard address == nil, let first = host.first, first != "/", first != "@" else { return false }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        defer { if let found { freeaddrinfo(found) } }
        return getaddrinfo(host, nil, &hints, &found) != 0
    }
}

/// A connection string taken apart: what is asked of a server, and which servers may be asked.
struct ConnectionParameters: Sendable {
    /// A server, and the session that it has to have (`target_session_attrs`); nil for the session of the string.
    struct Candidate: Sendable {
        var place: ServerPlace?
        let session: String?
    }

    /// libpq's words with their values.
    var values: [String: String]
    /// The servers in the order in which they are asked; one without a place where libpq alone knows it.
    private(set) var candidates: [Candidate] = []
    /// How long each server may be silent; nil for any time.
    private(set) var patience: Duration?

    /// - Parameters:
    ///   - text: Words and values, or a URL.
    ///   - standards: Values of words that the text does not have.
    ///   - patience: How long a server may be silent when nothing says otherwise.
    /// - Throws: What is wrong with the text.
    init(_ text: String, standards: [String: String], patience: Duration) throws(PostgresError) {
        let own = try Self.parse(text)
        values = standards.merging(own) { $1 }
        self.patience = patience
        // A service file is read by libpq alone.
        guard own["service"] == nil else {
            candidates = [Candidate(place: nil, session: nil)]
            return
        }
        let inherited = Self.inherited
        func value(_ word: String) -> String? { own[word] ?? inherited[word] }
        if let seconds = value("connect_timeout").flatMap({ Int($0) }) {
            // As libpq has it: none is no limit, and one second is two.
            self.patience = seconds > 0 ? .seconds(max(2, seconds)) : nil
        }
        guard let places = Self.places(value("host") ?? "", value("hostaddr"), value("port") ?? "") else {
            candidates = [Candidate(place: nil, session: nil)]
            return
        }
        let order = value("load_balance_hosts") == "random" ? places.shuffled() : places
        // Of several servers, the service needs the one that takes writes. libpq's own default, which it tells as if
        // somebody had said it, is any.
        let asked = own["target_session_attrs"] ?? getenv("PGTARGETSESSIONATTRS").map { String(cString: $0) }
        let session = asked ?? (places.count > 1 ? "read-write" : nil)
        let sessions = session == "prefer-standby" ? ["standby", "any"] : [session]
        candidates = sessions.flatMap { session in order.map { Candidate(place: $0, session: session) } }
    }

    /// The password of the string, or else of the environment; nil where a file has it, or nobody.
    var password: String? { values["password"] ?? Self.inherited["password"] }

    /// Whether there is another server to turn to.
    var hasChoice: Bool { candidates.count > 1 || candidates.first?.place?.isNamed == true }

    /// What libpq is given for one server.
    func values(for candidate: Candidate) -> [String: String] {
        var values = values
        if let place = candidate.place {
            values["host"] = place.host
            values["hostaddr"] = place.address
            values["port"] = place.port
        }
        if let session = candidate.session { values["target_session_attrs"] = session }
        return values
    }

    /// The servers of lists whose members belong together; nil where the lists do not fit.
    private static func places(_ hosts: String, _ addresses: String?, _ ports: String) -> [ServerPlace]? {
        func list(_ text: String) -> [String] {
            text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list(hosts), addresses.map(list) ?? [], list(ports))
        let count = max(hosts.count, addresses.count)
        guard hosts.count == count || hosts == [""], addresses.count == count || addresses.isEmpty,
            ports.count == count || ports.count == 1
        else { return nil }
        return (0..<count).map { index in
            ServerPlace(
                host: hosts.count == count ? hosts[index] : "",
                address: addresses.isEmpty || addresses[index].isEmpty ? nil : addresses[index],
                port: ports.count == count ? ports[index] : ports[0])
        }
    }

    private static func parse(_ text: String) throws(PostgresError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            defer { PQfreemem(message) }
            // What it quotes may be of a password.
            let parts = message.map { String(cString: $0).split(separator: "\"", omittingEmptySubsequences: false) }
            let reason = parts.map { $0.enumerated().map { $0.isMultiple(of: 2) ? String($1) : "…" }.joined() } ?? ""
            throw PostgresError(
                .unavailable, "The connection string cannot be read: \(reason.filter { $0 != "\n" })")
        }
        return values(of: options)
    }

    /// What the environment and libpq itself say.
    private static var inherited: [String: String] { PQconndefaults().map(values) ?? [:] }

    /// The words that have a value; frees them.
    private static func values(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        defer { PQconninfoFree(options) }
        var (values, option) = ([String: String](), options)
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}
