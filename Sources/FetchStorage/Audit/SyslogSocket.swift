import Glibc

/// The sockets of a syslog daemon.
///
/// Its functions block, for some seconds at most, and return nil when the daemon has all, else what failed.
enum SyslogSocket {
    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    // MARK: Of this machine

    static func send(_ messages: [[UInt8]], toSocketAt path: String) -> String? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return text(errno) }
        defer { close(descriptor) }
        setPatience(of: descriptor)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let isConnected = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { return text(errno) }
        for message in messages {
            var count: Int
            repeat {
                count = Glibc.send(descriptor, message, message.count, Int32(MSG_NOSIGNAL))
            } while count < 0 && errno == EINTR
            guard count == message.count else { return text(errno) }
        }
        return nil
    }

    // MARK: TCP

    /// - Parameter files: What TLS needs; nil for a connection without TLS.
    static func send(_ stream: [UInt8], to host: String, _ port: UInt16, _ files: SyslogTLS? = nil) -> String? {
        var wanted = addrinfo()
        wanted.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &wanted, &list)
        guard code == 0 else { return String(cString: gai_strerror(code)) }
        defer { freeaddrinfo(list) }
        var failure = "it has no address"
        var next = list
        while let address = next?.pointee {
            next = address.ai_next
            let descriptor = socket(
                address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), address.ai_protocol)
            guard descriptor >= 0 else {
                failure = text(errno)
                continue
            }
            defer { close(descriptor) }
            setPatience(of: descriptor)
            guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
                failure = text(errno)
                continue
            }
            let deadline = ContinuousClock.now + .seconds(2 * AuditSyslog.patience)
            guard let files else { return send(stream, through: descriptor, deadline) }
            do throws(SyslogTLSConnection.Failure) {
                return try send(stream, through: descriptor, SyslogTLSConnection(to: host, files), deadline)
            } catch { return error.reason }
        }
        return failure
    }

    private static func send(
        _ stream: [UInt8], through descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) -> String? {
        if let failure = write(stream, to: descriptor, deadline) { return failure }
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else { return text(errno) }
        return waitForEnd(of: descriptor, deadline)
    }

    private static func write(
        _ bytes: [UInt8], to descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard ContinuousClock.now < deadline else { return text(ETIMEDOUT) }
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return text(errno) }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    // MARK: TLS

    private static func send(
        _ stream: [UInt8], through descriptor: Int32, _ connection: SyslogTLSConnection,
        _ deadline: ContinuousClock.Instant
    ) throws(SyslogTLSConnection.Failure) -> String? {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let isComplete = try connection.shakeHands()
            if let failure = write(connection.nextBytes(), to: descriptor, deadline) { return failure }
            if isComplete { break }
            guard ContinuousClock.now < deadline else { return text(ETIMEDOUT) }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? "it ended the handshake of TLS" : text(errno) }
            connection.feed(buffer[..<count])
        }
        var rest = stream[...]
        while !rest.isEmpty {
            // As much as a record has.
            try connection.write(rest.prefix(16_384))
            rest = rest.dropFirst(16_384)
            if let failure = write(connection.nextBytes(), to: descriptor, deadline) { return failure }
        }
        connection.close()
        if let failure = write(connection.nextBytes(), to: descriptor, deadline) { return failure }
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else { return text(errno) }
        var refusal: SyslogTLSConnection.Failure?
        let failure = waitForEnd(of: descriptor, deadline) { bytes in
            // A certificate of ours that it does not take is refused only now.
            do throws(SyslogTLSConnection.Failure) { return try connection.take(bytes) } catch {
                refusal = error
                return true
            }
        }
        return refusal?.reason ?? failure
    }

    // MARK: The end

    /// Waits for the receiver's end of the connection, which says that it has read ours.
    ///
    /// - Parameter take: Takes what it says before, and returns whether that is its end.
    private static func waitForEnd(
        of descriptor: Int32, _ deadline: ContinuousClock.Instant, _ take: (ArraySlice<UInt8>) -> Bool = { _ in false }
    ) -> String? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        while ContinuousClock.now < deadline {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 || count > 0 && take(buffer[..<count]) { break }
            if count < 0, errno != EINTR {
                guard errno == EAGAIN || errno == EWOULDBLOCK else { return text(errno) }
                // It keeps connections open, or a balancer before it does: that its system has all has to do.
                break
            }
        }
        // One that ends the connection without reading sends its end first, and a reset for what comes then.
        var waiting: Int32 = 0
        while ioctl(descriptor, UInt(TIOCOUTQ), &waiting) == 0, waiting > 0 {
            guard ContinuousClock.now < deadline else { return text(ETIMEDOUT) }
            poll(nil, 0, 5)
        }
        var fault: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 else { return text(errno) }
        return fault == 0 ? nil : text(fault)
    }

    private static func setPatience(of descriptor: Int32) {
        var time = timeval(tv_sec: AuditSyslog.patience, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }
}
