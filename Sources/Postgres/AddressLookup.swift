import Glibc

/// Looks a name up, on a thread for that time alone: the library blocks.
// @unchecked: made by one thread, and then used and freed by another.
final class AddressLookup: @unchecked Sendable {
    typealias Answer = @Sendable (Result<[String], PostgresError>) -> Void

    private let name: String
    private let answer: Answer

    private init(_ name: String, _ answer: @escaping Answer) {
        self.name = name
        self.answer = answer
    }

    /// - Parameter answer: Gets the addresses in the order in which they are to be used, on another thread.
    static func start(of name: String, _ answer: @escaping Answer) {
        let lookup = AddressLookup(name, answer)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(lookup)
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<AddressLookup>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            return answer(.failure(PostgresError(.unavailable, "There is no thread to look a name up.")))
        }
        pthread_detach(thread)
    }

    private func run() {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &found)
        defer { if let found { freeaddrinfo(found) } }
        guard status == 0 else {
            let reason = String(cString: gai_strerror(status))
            return answer(.failure(PostgresError(.unavailable, "The host name \(name) was not found: \(reason).")))
        }
        answer(.success(Self.addresses(found)))
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
