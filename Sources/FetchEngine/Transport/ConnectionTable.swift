import Glibc

/// The sockets that libcurl has in a partition, found by the ends that it tells of before each request.
///
/// libcurl asks for every socket and says when it is done with it, but not which one a request is about to go over.
// Everything here is touched on the loop's thread alone.
final class ConnectionTable {
    /// The addresses that identify a connection of this machine.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: Int32
    }

    /// The ends of every socket that is open; nil until a request has gone over it.
    private var ends: [Int32: Ends?] = [:]
    private var sockets: [Ends: Int32] = [:]
    private let budget: DescriptorBudget

    init(_ budget: DescriptorBudget) { self.budget = budget }

    /// Makes a socket; -1 when the system has none to give, as `socket` does.
    func open(_ family: Int32, _ kind: Int32, _ number: Int32) -> Int32 {
        let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(family, kind | flags, number)
        guard socket >= 0 else { return socket }
        ends[socket] = .some(nil)
        budget.opened()
        return socket
    }

    func close(_ socket: Int32) -> Int32 {
        budget.closed()
        if case .some(.some(let ends)) = ends.removeValue(forKey: socket) { sockets[ends] = nil }
        return Glibc.close(socket)
    }

    /// The socket of a connection that has carried a request before.
    ///
    /// - Parameter own: The sockets that the transfer itself asked for, one of which it has if the connection is new.
    /// - Returns: nil for a new connection, which is known from now on.
    func reused(_ ends: Ends, own: [Int32]) -> Int32? {
        if let socket = sockets[ends] { return socket }
        let candidates = own.isEmpty ? self.ends.filter { $0.value == nil }.map(\.key) : own
        guard let socket = candidates.first(where: { Self.localPort(of: $0) == ends.localPort }) else { return nil }
        self.ends[socket] = ends
        sockets[ends] = socket
        // It was made for a transfer that ended before it had sent anything.
        return own.isEmpty ? socket : nil
    }

    private static func localPort(of socket: Int32) -> Int32 {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
        }
        guard status == 0 else { return -1 }
        return withUnsafeBytes(of: &address) { Int32(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
    }
}
