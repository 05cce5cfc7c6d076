import EventLoop
import Glibc

/// Looks a name up, on a thread for that time alone: the library blocks.
enum AddressLookup {
    typealias Answer = @Sendable (Result<[String], PostgresError>) -> Void

    /// - Parameter answer: Gets the addresses in the order in which they are to be used, on another thread.
    static func start(of name: String, _ answer: @escaping Answer) {
        guard !DetachedThread.start({ answer(addresses(of: name)) }) else { return }
        answer(.failure(PostgresError(.unavailable, "There is no thread to look a name up.")))
    }

    private static func addresses(of name: String) -> Result<[String], PostgresError> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &found)
        defer { if let found { freeaddrinfo(found) } }
        guard status == 0 else {
            let reason = String(cString: gai_strerror(status))
            return .failure(PostgresError(.unavailable, "The host name \(name) was not found: \(reason)."))
        }
        return .success(addresses(found))
    }

    private static func addresses(_ list: UnsafeMutablePointer<addrinfo>?) -> [String] {
        var (addresses, entry) = ([String](), list)
        while let info = entry?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            entry = info.ai_next
        }
        return addresses
    }
}
